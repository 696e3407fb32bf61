#ifndef RETRYQ_TEST_BENCH_BASELINES_WORKLOAD_H_
#define RETRYQ_TEST_BENCH_BASELINES_WORKLOAD_H_

/* What the baselines and the worker on retryq do alike. For C and C++. */

enum {
  kPrefetch = 512,

  /* The first TTL and the distance to the next one, in milliseconds: so long that nothing comes
     back while it is measured. */
  kFirstTtl = 3600000,
  kTtlStep = 1000,

  /* What retryq's x-expires has beyond a TTL of that length: window and margin. */
  kExpiresBeyondTtl = 660000,
};

/* What message ids begin with; a number follows. */
static const char kIdPrefix[] = "message-";

/* Why the handler fails; travels with each copy. */
#define RETRYQ_BENCH_ERROR "connection to 192.0.2.7:443 refused"

#endif /* RETRYQ_TEST_BENCH_BASELINES_WORKLOAD_H_ */
