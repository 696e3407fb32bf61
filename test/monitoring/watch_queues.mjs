// Watches delay queues come and go as a person does: in RabbitMQ's management UI, in a browser.
//
// usage: node watch_queues.mjs DIRECTORY
//
// Logs in at RETRYQ_MANAGEMENT_URL and leaves pictures in DIRECTORY. Watches a queue from its declaration to the release of the
// messages that wait for it, and runs the command meanwhile: a worker fails messages, so that they wait in retry.1000, and later for
// an hour. Prints a line for each thing seen. Exit code 1, and a picture of it, where something is not seen in time.

import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { chromium } from 'playwright-core';

const WORK_QUEUE = 'orders';
const QUEUE = 'retry.1000';
const LATER_QUEUE = 'retry.3600000';
const MESSAGES = 20;
const WIDTH = 1200;
const PATIENCE_MS = 60_000;
// A lease is TTL + window + margin, and the broker and the page need some seconds each to notice.
const LEASE_PATIENCE_MS = 180_000;

const directory = process.argv[2];
const management = new URL(process.env.RETRYQ_MANAGEMENT_URL);
const { username, password } = management;
management.username = management.password = '';

// Flags that keep it from the network, for which a test has no use.
const FLAGS = [
  '--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking', '--disable-component-update',
  '--disable-sync', '--disable-default-apps', '--disable-quic',
];

let passed = 0;
const seen = (what) => { ++passed; console.log(`ok    ${what}`); };
const retryq = (...words) => execFileSync('build/bin/retryq', words, { stdio: ['ignore', 'ignore', 'inherit'] });

// A worker that fails all messages.
let worker;
function startWorker(...flags) {
  const log = openSync(join(directory, 'worker.log'), 'a');
  worker = spawn('build/bin/retryq', ['work', '--queue', WORK_QUEUE, '--url', `${process.env.RETRYQ_URL}?heartbeat=1`,
    '--max-attempts', '0', '--jobs', '4', ...flags, '--', 'sh', '-c', 'echo "card declined" >&2; exit 1'],
  { stdio: ['ignore', log, log] });
}
async function stopWorker() {
  worker.kill();
  await once(worker, 'exit');
  worker = undefined;
}
process.on('exit', () => worker?.kill());
process.on('SIGTERM', () => process.exit(143));

const picture = (page, name, more = {}) => page.screenshot({ path: join(directory, `${name}.png`), ...more });

// What the table of queues shows: by a queue's name its cells, by their columns' heads. Nothing before it is there.
async function readTable(page) {
  const heads = await page.locator('table.list thead tr').last().locator('th').allInnerTexts();
  const rows = await page.locator('table.list tbody tr').all();
  const cells = await Promise.all(rows.map((row) => row.locator('td').allInnerTexts()));
  return new Map(cells.map((texts) => {
    const row = Object.fromEntries(texts.map((text, i) => [(heads[i] ?? '').trim(), text.trim()]));
    return [row.Name, row];
  }));
}

// Looks again and again, as the page refreshes itself, until the condition holds for the rows of these queues. Returns the
// first of them.
async function until(page, what, queues, condition, patience = PATIENCE_MS) {
  const end = Date.now() + patience;
  for (;;) {
    const table = await readTable(page);
    const rows = queues.map((queue) => table.get(queue));
    if (condition(...rows)) return rows[0];
    if (Date.now() > end) {
      throw new Error(`not seen within ${patience / 1000} s: ${what}; the table was ${JSON.stringify([...table])}`);
    }
    await page.waitForTimeout(250);
  }
}

async function watch(page) {
  await page.goto(management.href);
  await page.fill('input[name=username]', decodeURIComponent(username));
  await page.fill('input[name=password]', decodeURIComponent(password));
  await page.click('input[type=submit]');
  await page.getByRole('link', { name: 'Log out' }).or(page.getByRole('button', { name: 'Log out' })).waitFor();
  seen('logged in');

  await page.goto(new URL('#/queues', management).href);
  retryq('declare', '--queue', WORK_QUEUE);
  await until(page, `${WORK_QUEUE}, durable`, [WORK_QUEUE], (found) => found?.Features.split(/\s+/).includes('D'));
  seen(`${WORK_QUEUE}, as retryq declare has made it`);

  for (let i = 1; i <= MESSAGES; ++i) retryq('send', '--queue', WORK_QUEUE, `order ${i}`);
  // A lease of 65 s: 1 s of TTL, a minute of window, 4 s of margin, which is four heartbeats at least.
  startWorker('--base', '1s', '--max', '1s', '--margin', '4s');
  const features = ['TTL', 'Exp', 'DLX'];
  const row = await until(page, `${QUEUE} with messages`, [QUEUE], (found) => Number(found?.Ready) > 0);
  const shown = row.Features.split(/\s+/);
  for (const feature of features) {
    if (!shown.includes(feature)) throw new Error(`${QUEUE} does not show ${feature}, but ${row.Features}`);
  }
  seen(`${QUEUE} with ${row.Ready} messages and the features ${features.join(', ')}`);
  await picture(page, 'queues');

  await page.getByRole('link', { name: QUEUE, exact: true }).click();
  await page.getByRole('heading', { name: `Queue ${QUEUE}` }).waitFor();
  const facts = (await page.locator('table.facts').allInnerTexts()).join('\n');
  for (const fact of [/x-message-ttl:\s*1000\b/, /x-expires:\s*\d+/, /x-dead-letter-exchange:/]) {
    if (!fact.test(facts)) throw new Error(`the page of ${QUEUE} does not show ${fact}`);
  }
  seen('its page, with TTL, lease and dead-letter exchange');
  await picture(page, 'queue', { fullPage: true, clip: { x: 0, y: 0, width: WIDTH, height: 720 } });

  await page.goto(new URL('#/queues', management).href);
  await stopWorker();
  await until(page, `${QUEUE} gone`, [WORK_QUEUE, QUEUE], (work, delay) => work !== undefined && delay === undefined,
    LEASE_PATIENCE_MS);
  seen('gone after its lease');
  await picture(page, 'gone');

  startWorker('--base', '1h', '--max', '1h');
  await until(page, `${LATER_QUEUE} with all messages`, [LATER_QUEUE], (found) => Number(found?.Ready) === MESSAGES);
  seen(`${LATER_QUEUE} with ${MESSAGES} messages, for an hour`);
  await stopWorker();
  retryq('waiting', 'release', '--queue', WORK_QUEUE, '--all');
  await until(page, `${WORK_QUEUE} with all messages`, [WORK_QUEUE, LATER_QUEUE],
    (work, later) => Number(work?.Ready) === MESSAGES && Number(later?.Ready ?? 0) === 0);
  seen(`${WORK_QUEUE} with all of them, as retryq waiting release has sent them back`);
  await picture(page, 'released');
}

mkdirSync(directory, { recursive: true });
const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: FLAGS });
const page = await browser.newPage({ viewport: { width: WIDTH, height: 520 } });
let failed = 0;
try {
  await watch(page);
} catch (error) {
  failed = 1;
  console.error(`${error.message}\nthe last picture is failed.png in ${directory}, and the worker's log is worker.log`);
  await picture(page, 'failed').catch(() => {});
} finally {
  await browser.close();
}
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed;
