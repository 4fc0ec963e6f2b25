// Logging in and out in a real browser, at a collector that asks people who they are.
import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import path from 'node:path';
import {after, before, test} from 'node:test';
import {axe, launch, open, overflow} from './browser.mjs';
import {BUILD, Collector} from './fleet.mjs';

let collector, browser;

const command = (...args) => execFileSync(path.join(BUILD, 'bin/fleetmark-collector'), ['--config', collector.config, ...args],
  {encoding: 'utf8'}).trim();

before(async () => {
  collector = await Collector.make('people: {}\n');
  browser = await launch();
}, {timeout: 60000});

after(async () => {
  await browser?.close();
  await collector?.remove();
}, {timeout: 60000});

test('a stranger is asked for a token, a wrong one is told, a good one lets in until it is taken back', {timeout: 120000},
  async () => {
    const page = await open(browser, collector);
    page.mayFail = true;  // what is asked before is refused
    await page.waitForSelector('form.login');
    assert.deepEqual(await axe(page), []);
    assert.ok(await overflow(page) <= 0);
    await page.fill('input[name=token]', 'fmt1.x.y');
    await page.click('form.login button');
    await page.waitForSelector('text=This token is not good');

    const token = command('token', 'create', 'alice', '--role=operator');
    await page.fill('input[name=token]', token);
    await page.click('form.login button');
    await page.waitForSelector('button:has-text("alice")');
    await page.waitForSelector('.fresh.on');
    assert.equal(await page.locator('form.login').count(), 0);
    // No script reads it.
    assert.equal(await page.evaluate(() => document.cookie), '');
    assert.ok(!(await page.evaluate(() => JSON.stringify({...localStorage, ...sessionStorage}))).includes(token));
    const cookie = (await page.context().cookies()).find((c) => c.name === 'fleetmark_token');
    assert.ok(cookie.httpOnly && cookie.sameSite === 'Strict');

    await page.click('button:has-text("alice")');
    await page.waitForSelector('form.login');
    assert.deepEqual(await page.context().cookies(), []);

    await page.fill('input[name=token]', token);
    await page.click('form.login button');
    await page.waitForSelector('.fresh.on');
    command('token', 'revoke', 'alice');
    await page.waitForSelector('form.login');
    const faults = page.faults.filter((f) => !/status of 401/.test(f));
    assert.deepEqual(faults, []);
    await page.context().close();
  });
