// The page of alerts: what a person on call does, by mouse and by keys alone, and what the collector then knows.
import assert from 'node:assert/strict';
import {execFile} from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import {after, before, test} from 'node:test';
import {promisify} from 'node:util';
import {checkLooks, launch, withPage} from './browser.mjs';
import {BUILD, Collector, until} from './fleet.mjs';

const NODES = ['n1', 'n2', 'n3'];
const CONFIG = `references:
  - {benchmark: stream, metric: triad, value: 200, unit: GB/s, lower: -0.1}
alerts: {wait: 0s}
`;

let collector, browser;

const alerts = async () => (await collector.get('alerts')).alerts;
const asked = (id) => collector.get(`alerts/${encodeURIComponent(id)}`);

before(async () => {
  collector = await Collector.make(CONFIG);
  const file = path.join(collector.folder, 'slow.csv');
  const seconds = Date.now() / 1000 - 60;
  fs.writeFileSync(file, 'time,node,benchmark,metric,value,unit\n' +
      NODES.map((node) => `${seconds},${node},stream,triad,150,GB/s\n`).join(''));
  await promisify(execFile)(path.join(BUILD, 'bin', 'fleetmark'),
    ['--collector', `127.0.0.1:${collector.grpcPort}`, 'import', 'csv', file]);
  // The first look at the fleet, which decides, is a minute after the start.
  await until('all three fire', async () => (await alerts()).filter((a) => a.life.state === 'STATE_FIRING').length === 3, 150);
  browser = await launch();
}, {timeout: 200000});

after(async () => {
  await browser?.close();
  await collector?.remove();
}, {timeout: 60000});

const on = (route, body) => () => withPage(browser, collector, {route}, body);
const done = (page, text) => page.waitForSelector(`.done:has-text("${text}")`);

test('the list and one alert at every width: nothing too wide, nothing against axe', async () => {
  const [first] = await alerts();
  for (const [name, route] of [['alerts', '#/alerts'], ['alert', `#/alerts/${first.alert_id}`]]) {
    await on(route, async (page) => {
      await page.waitForSelector(name === 'alerts' ? '.alert' : '#history');
      await checkLooks(page, name);
    })();
  }
});

test('by mouse: acknowledged, taken back', on('#/alerts', async (page) => {
  const row = page.locator('.alert').first();
  const id = (await row.locator('a.main').getAttribute('href')).match(/alerts\/([^?]+)/)[1];
  await row.locator('input[type=checkbox]').click();
  await page.click('.bulk button:has-text("Acknowledge")');
  await page.fill('dialog label:has-text("Note") input', '<b>a disk is ordered</b>');
  await page.fill('dialog label:has-text("Your name") input', 'ada');
  await page.click('dialog button[type=submit]');
  await done(page, 'acknowledged');
  const {alert} = await asked(id);
  assert.equal(alert.life.acknowledged.by, 'ada');
  assert.equal(alert.life.acknowledged.note, '<b>a disk is ordered</b>');
  await page.waitForSelector('.alert:has-text("<b>a disk is ordered</b>")');  // as text
  await page.click('.done button:has-text("Undo")');
  await done(page, 'open again');
  assert.equal((await asked(id)).alert.life.acknowledged ?? null, null);
}));

test('one alert is silenced with a reason, its history says so, and the silence is ended', on('#/alerts', async (page) => {
  await page.locator('.alert a.main').first().click();
  await page.waitForSelector('#history');
  await page.click('.actions button:has-text("Silence")');
  await page.fill('dialog label:has-text("Reason") input', 'the rack is moved');
  await page.fill('dialog label:has-text("Your name") input', 'ada');
  await page.click('dialog button[type=submit]');
  await done(page, 'silenced');
  const [silence] = (await collector.get('silences')).silences;
  assert.deepEqual([silence.by, silence.note], ['ada', 'the rack is moved']);
  await until('it is silenced', async () => (await alerts()).some((a) => a.life.state === 'STATE_SILENCED'), 30);
  await page.goto(`${collector.url}/#/alerts`);
  await page.click('section[aria-labelledby=silences] button:has-text("End now")');
  await page.waitForFunction(() => !document.querySelector('section[aria-labelledby=silences]'));
  await until('it fires again', async () => (await alerts()).every((a) => a.life.state === 'STATE_FIRING'), 30);
}));

test('by keys alone: two are chosen and acknowledged at once', on('#/', async (page) => {
  await until('the page hears keys', async () => {  // it listens a moment after it is shown
    await page.keyboard.press('g');
    await page.keyboard.press('a');
    return page.url().endsWith('#/alerts');
  }, 30);
  await page.waitForSelector('.alert');
  for (const key of ['j', 'x', 'j', 'x', 'a']) await page.keyboard.press(key);
  await page.waitForSelector('dialog[open]');
  await page.keyboard.type('both are known');
  await page.keyboard.press('Tab');
  await page.keyboard.type('bob');
  await page.keyboard.press('Enter');
  await done(page, '2 alerts');
  const acknowledged = (await alerts()).filter((a) => a.life.acknowledged?.by === 'bob');
  assert.deepEqual(acknowledged.map((a) => a.life.acknowledged.note), ['both are known', 'both are known']);
}));
