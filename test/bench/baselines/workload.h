#ifndef RETRYQ_TEST_BENCH_BASELINES_WORKLOAD_H_
#define RETRYQ_TEST_BENCH_BASELINES_WORKLOAD_H_

/* Constants of the baselines and of the workers on retryq. For C and C++. */

enum {
  kPrefetch = 512,

  /* The first TTL and the distance to the next one, in milliseconds. Copies do not come back during
     a measurement. */
  kFirstTtl = 3600000,
  kTtlStep = 1000,

  /* The difference of retryq's x-expires and a TTL of that length: window and margin. */
  kExpiresBeyondTtl = 660000,
};

/* The start of all message ids; a number follows. */
static const char kIdPrefix[] = "message-";

/* The handler's error, which each copy contains. */
#define RETRYQ_BENCH_ERROR "connection to 192.0.2.7:443 refused"

#endif /* RETRYQ_TEST_BENCH_BASELINES_WORKLOAD_H_ */
