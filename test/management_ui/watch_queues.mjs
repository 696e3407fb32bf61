// Watches delay queues come and go as a person does: in RabbitMQ's management UI, in a browser.
//
// usage: node watch_queues.mjs DIRECTORY
//
// Logs in at RETRYQ_MANAGEMENT_URL, where a worker fails messages so that they wait in retry.1000, and leaves pictures in
// DIRECTORY. Prints "the worker may stop" once it has seen enough of that, goes on until the queue is gone, and prints a
// line for each thing seen. Exit code 1, and a picture of it, where something is not seen in time.

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { chromium } from 'playwright-core';

const WORK_QUEUE = 'orders';
const QUEUE = 'retry.1000';
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

// Looks again and again, as the page refreshes itself, until the condition holds for the delay queue's row.
async function until(page, what, condition, patience = PATIENCE_MS) {
  const end = Date.now() + patience;
  for (;;) {
    const table = await readTable(page);
    if (table.has(WORK_QUEUE) && condition(table.get(QUEUE))) return table.get(QUEUE);
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
  const features = ['TTL', 'Exp', 'DLX'];
  const row = await until(page, `${QUEUE} with messages`, (found) => Number(found?.Ready) > 0);
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
  console.log('the worker may stop');
  await until(page, `${QUEUE} gone`, (found) => found === undefined, LEASE_PATIENCE_MS);
  seen('gone after its lease');
  await picture(page, 'gone');
}

mkdirSync(directory, { recursive: true });
const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: FLAGS });
const page = await browser.newPage({ viewport: { width: WIDTH, height: 520 } });
let failed = 0;
try {
  await watch(page);
} catch (error) {
  failed = 1;
  console.error(error.message);
  await picture(page, 'failed').catch(() => {});
} finally {
  await browser.close();
}
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed;
