// What the page shows and does, in a real browser, against a real collector with a simulated fleet.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import {after, before, test} from 'node:test';
import {axe, checkLooks, launch, overflow, withPage} from './browser.mjs';
import {Collector, seed, until} from './fleet.mjs';

const NODES = 96, RUNS = 40;

let collector, fleet, browser;

before(async () => {
  collector = await Collector.make();
  fleet = await seed(collector, {nodes: NODES, runs: RUNS});
  // The broken node is found when its samples are judged.
  await until('the broken node is found', async () =>
    (await collector.get('findings?state=open&direction=worse&node=n00007')).findings.length > 0, 120);
  browser = await launch();
}, {timeout: 400000});

after(async () => {
  await browser?.close();
  await fleet?.stop();
  await collector?.remove();
}, {timeout: 60000});

const on = (options, body) => () => withPage(browser, options.collector ?? collector, options, body);

const seriesOf = async (node, benchmark, metric) =>
  (await collector.get(`series?node=${node}&benchmark=${benchmark}&metric=${metric}`)).series[0].series_id;

// --- every page ----------------------------------------------------------------------------------------------------

const routes = async () => {
  const finding = (await collector.get('findings?state=open&direction=worse&node=n00007')).findings[0];
  const failed = (await collector.get('runs?outcome=failed&limit=1')).runs[0].run;
  return {
    fleet: ['#/', 'canvas[data-drawn]'], metric: ['#/?by=gemm%2Fperformance&group=rack', 'canvas[data-drawn]'],
    node: ['#/nodes/n00007', '.multiple svg path'], gpunode: ['#/nodes/n00032', '.multiple svg path'],
    series: [`#/series/${await seriesOf('n00007', 'stream', 'bandwidth')}`, '.chart canvas'],
    findings: ['#/findings', '.problem'], finding: [`#/findings/${finding.finding_id}`, '.facts'],
    compare: ['#/compare?a.fact=gpu.driver%3D560.35&b.fact=gpu.driver%3D570.86', 'table'],
    alerts: ['#/alerts', '.empty'],
    benchmarks: ['#/benchmarks', 'table'], benchmark: ['#/benchmarks/gemm', 'table'], run: [`#/runs/${failed.run_id}`, '.log'],
    missing: ['#/nodes/nowhere', '.empty'],
  };
};

test('every page at every width, light and dark: no fault, nothing too wide, nothing against axe', async () => {
  for (const [name, [route, ready]] of Object.entries(await routes())) {
    await on({route}, async (page) => {
      page.mayFail = name === 'missing';
      await page.waitForSelector(ready);
      await checkLooks(page, name);
      assert.equal(await page.locator('main h1, main .empty h2').count() > 0, true, name);
    })();
  }
});

// --- the fleet -----------------------------------------------------------------------------------------------------

test('the fleet page says how it is, what is wrong, and what to do', on({}, async (page) => {
  await page.waitForSelector('canvas[data-drawn]');
  const status = await collector.get('status');
  assert.match(await page.textContent('.verdict'), /Not healthy/);
  const counts = await page.locator('.counts').innerText();
  assert.match(counts, new RegExp(`${status.nodes}\\s+nodes expected`));
  assert.match(counts, new RegExp(`${status.nodes_connected}\\s+reporting`));
  assert.match(counts, /1\s+silent/);  // n00049
  const problems = await page.locator('.problems').innerText();
  assert.match(problems, /stream/);
  assert.match(problems, /n00007/);
  assert.match(problems, /Next:/);
}));

test('the map is drawn, is searched and grouped, and the URL keeps it', on({}, async (page) => {
  const drawn = () => page.getAttribute('.map canvas', 'data-drawn');
  await page.waitForSelector('canvas[data-drawn]');
  assert.equal(await drawn(), String(NODES));
  const colours = await page.evaluate(() => {
    const c = document.querySelector('.map canvas');
    const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
    const seen = new Set();
    for (let i = 0; i < d.length; i += 4) if (d[i + 3] === 255) seen.add((d[i] << 16) | (d[i + 1] << 8) | d[i + 2]);
    return seen.size;
  });
  assert.ok(colours >= 4, `only ${colours} colours`);
  await page.selectOption('label.field:has-text("Group by") select', 'rack');
  await page.waitForFunction(() => location.hash.includes('group=rack'));
  await page.fill('input[type=search]', 'r002');
  await page.waitForFunction(() => document.querySelector('.map canvas').dataset.drawn === '20');
  await page.reload();
  await page.waitForFunction(() => document.querySelector('.map canvas')?.dataset.drawn === '20');
  assert.equal(await page.inputValue('input[type=search]'), 'r002');
  await page.goBack();
  await page.waitForFunction((n) => document.querySelector('.map canvas')?.dataset.drawn === n, String(NODES));
  await page.click('button.count:has-text("silent")');
  await page.waitForFunction(() => document.querySelector('.map canvas').dataset.drawn === '1');
}));

test('the map is coloured by a metric against its past', on({route: '#/?by=stream%2Fbandwidth'}, async (page) => {
  await page.waitForSelector('text=Before');
  assert.match(await page.locator('section:has(#nodes) tbody tr').first().innerText(), /n\d{5}/);
  assert.match(await page.locator('.legend').first().innerText(), /better from 15 %/);
}));

test('by keyboard alone: search, a node, findings, the map', on({}, async (page) => {
  await page.waitForSelector('canvas[data-drawn]');
  await page.keyboard.press('/');
  await page.keyboard.type('n00007');
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => location.hash === '#/nodes/n00007');
  await page.waitForSelector('.multiple');
  await page.keyboard.press('g');
  await page.keyboard.press('i');
  await page.waitForSelector('.problem');
  await page.keyboard.press('j');
  await page.waitForSelector('.problem.chosen');
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => /#\/findings\/\w{26}/.test(location.hash));
  await page.waitForSelector('.facts');
  await page.keyboard.press('g');
  await page.keyboard.press('f');
  await page.waitForSelector('canvas[data-drawn]');
  await page.focus('.map canvas');
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('ArrowRight');
  const said = await page.textContent('.map [aria-live]');
  assert.match(said, /n\d{5}/);
  await page.keyboard.press('Enter');
  await page.waitForFunction((name) => location.hash === `#/nodes/${name}`, said.match(/n\d{5}/)[0]);
  await page.keyboard.press('?');
  await page.waitForSelector('dialog[open]');
  await page.keyboard.press('Escape');
  await page.waitForSelector('dialog[open]', {state: 'detached'});
}));

// --- node, series, findings ---------------------------------------------------------------------------------------

test('a node: its series, the change, its runs and a log', on({route: '#/nodes/n00007'}, async (page) => {
  await page.waitForSelector('.multiple svg path');
  assert.equal(await page.locator('.multiple').count(), 5);
  assert.ok(await page.locator('.multiple.bad .onset').count() >= 1);
  assert.match(await page.textContent('.verdict'), /problem/);
  assert.match(await page.locator('section:has(#events)').innerText(), /has booted/);
  await page.locator('section:has(#runs) tbody a').first().click();
  await page.waitForSelector('.log');
  assert.match(await page.textContent('.log'), /done|allocat/);
}));

test('a node that waits says for what', on({route: '#/nodes/n00005'}, async (page) => {
  await page.waitForSelector('.verdict');
  assert.match(await page.textContent('.head'), /waits: job 4716 is here/);
  assert.match(await page.locator('section:has(#gate)').innerText(), /job 4716 is here/);
}));

test('a series zooms, goes back, and is exported', on({}, async (page) => {
  const id = await seriesOf('n00007', 'stream', 'bandwidth');
  await page.goto(`${collector.url}/#/series/${id}`);
  const over = page.locator('.u-over');
  await over.waitFor();
  assert.match(await page.textContent('.head'), /GB\/s/);
  const box = await over.boundingBox();
  await page.mouse.move(box.x + box.width * 0.3, box.y + 100);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.7, box.y + 100, {steps: 5});
  await page.mouse.up();
  await page.waitForFunction(() => /from=\d+/.test(location.hash));
  await page.goBack();
  await page.waitForFunction(() => !/from=/.test(location.hash));
  await page.focus('.chart');
  await page.keyboard.press('ArrowUp');
  await page.waitForFunction(() => /from=\d+/.test(location.hash));
  await page.keyboard.press('Home');
  await page.waitForFunction(() => !/from=/.test(location.hash));
  const saved = async (button) => {
    const [file] = await Promise.all([page.waitForEvent('download'), page.click(`button:text-is("${button}")`)]);
    return fs.readFileSync(await file.path());
  };
  const csv = (await saved('CSV')).toString().trim().split('\r\n');
  assert.equal(csv[0], 'time,value,unit,run_id,relative_spread');
  const series = await collector.get(`series/${id}/samples?limit=1000`);
  assert.equal(csv.length, series.samples.length + 1);
  assert.equal(Number(csv[1].split(',')[1]), series.samples[0].value);
  assert.equal(JSON.parse(await saved('JSON')).samples.length, series.samples.length);
  assert.equal((await saved('Picture')).subarray(1, 4).toString(), 'PNG');
}));

test('findings are filtered, kept in the URL, and exported', on({route: '#/findings'}, async (page) => {
  await page.waitForSelector('.problem');
  await page.fill('input[type=search]', 'n00007');
  await page.waitForFunction(() => location.hash.includes('q=n00007'));
  const shown = await page.locator('.problem').count();
  assert.ok(shown >= 1);
  const [file] = await Promise.all([page.waitForEvent('download'), page.click('button:text-is("CSV")')]);
  assert.equal(fs.readFileSync(await file.path(), 'utf8').trim().split('\r\n').length, shown + 1);
  await page.locator('.problem .main').first().click();
  await page.waitForSelector('#evidence');
  const text = await page.innerText('main');
  for (const part of [/What to do/, /Before/, /After/, /95 % confidence/, /Began/, /How sure/]) assert.match(text, part);
  await page.goBack();
  await page.waitForSelector('input[type=search]');
  assert.equal(await page.inputValue('input[type=search]'), 'n00007');
}));

// --- compare, benchmarks -----------------------------------------------------------------------------------------

test('two drivers side by side', on({route: '#/compare'}, async (page) => {
  await page.fill('fieldset:nth-of-type(1) >> input >> nth=1', 'gpu.driver=560.35');
  await page.keyboard.press('Enter');
  await page.fill('fieldset:nth-of-type(2) >> input >> nth=1', 'gpu.driver=570.86');
  await page.keyboard.press('Enter');
  await page.fill('fieldset:nth-of-type(2) >> input >> nth=3', '-10h');
  await page.keyboard.press('Enter');
  const row = page.locator('tbody tr', {hasText: 'gemm performance'}).first();
  await row.waitFor();
  const text = await row.innerText();
  assert.match(text, /−\d/);
  assert.match(text, /to/);
  // The only clear row is open from the start.
  if (await row.locator('button').getAttribute('aria-expanded') === 'false') await row.locator('button').click();
  await page.waitForSelector('.spread svg');
  const answer = await collector.get('compare?a.fact=gpu.driver%3D560.35&b.fact=gpu.driver%3D570.86&b.from=-10h&benchmark=gemm');
  const change = answer.comparisons[0].change;
  assert.ok(change < -0.05 && change > -0.14, `${change}`);
}));

test('a benchmark runs now, with progress, to its end; a busy node refuses it', on({route: '#/nodes/n00002'}, async (page) => {
  await page.locator('section:has(#plan) tr', {hasText: 'gemm'}).locator('button').click();
  await page.waitForSelector('dialog[open] progress');
  await page.waitForSelector('dialog[open] >> text=part');
  await page.waitForSelector('dialog[open] .facts');
  assert.match(await page.innerText('dialog[open]'), /✓ ok/);
  await page.goto(`${collector.url}/#/benchmarks/stream`);
  await page.fill('section:has(#now) input', 'n00005');
  await page.click('section:has(#now) button');
  await page.waitForSelector('dialog[open] >> text=The node refused it: job 4716 is here');
}));

// --- what must not harm --------------------------------------------------------------------------------------------

test('hostile text is shown as text', on({route: '#/nodes/n00003'}, async (page) => {
  await page.waitForSelector('.multiple');
  await page.waitForSelector('section:has(#runs) td.does');
  const text = await page.innerText('main');
  assert.ok(text.includes('<img src=x onerror='), 'the label is shown as it is');
  const runs = await collector.get('runs?node=n00003&outcome=failed&limit=50');
  const hostile = runs.runs.find(({run}) => run.reason.includes('<img')).run.run_id;
  await page.goto(`${collector.url}/#/runs/${hostile}`);
  await page.waitForSelector('.log');
  assert.ok((await page.textContent('.log')).includes('</pre><script>'));
  assert.equal(await page.locator('main img, main script').count(), 0);
  await page.goto(`${collector.url}/#/?group=owner`);
  await page.waitForSelector('canvas[data-drawn]');
  assert.ok(await overflow(page) <= 0);
  assert.notEqual(await page.title(), 'owned');
}));

test('the collector goes away and comes back: the page says so, and keeps what was typed', {timeout: 120000}, async () => {
  const own = await Collector.make();
  try {
    await (await seed(own, {nodes: 8, runs: 3, hold: false}));
    await on({collector: own, route: '#/findings'}, async (page) => {
      page.mayFail = true;
      await page.waitForSelector('.fresh.on');
      await page.fill('input[type=search]', 'what I typed');
      await own.stop('SIGKILL');
      await page.waitForSelector('.banner.bad >> text=The collector does not answer');
      assert.equal(await page.inputValue('input[type=search]'), 'what I typed');
      await own.start();
      await page.waitForSelector('.fresh.on');
      await page.waitForSelector('.banner.bad', {state: 'detached'});
      assert.equal(await page.inputValue('input[type=search]'), 'what I typed');
    })();
  } finally {
    await own.remove();
  }
});

test('new data come without a reload', {timeout: 120000}, async () => {
  const own = await Collector.make();
  try {
    await on({collector: own}, async (page) => {
      await page.waitForSelector('text=No node has reported yet');
      await seed(own, {nodes: 5, runs: 2, hold: false});
      await page.waitForSelector('canvas[data-drawn="5"]');
    })();
  } finally {
    await own.remove();
  }
});

test('an empty collector: each page says what to do', {timeout: 120000}, async () => {
  const own = await Collector.make();
  try {
    for (const [route, words] of [['#/', 'Start an agent'], ['#/findings', 'Nothing is worse'], ['#/benchmarks', 'No benchmark is configured'],
      ['#/compare', 'Choose what A and B are'], ['#/series/1', 'Not there'], ['#/nope', 'There is no such page']]) {
      await on({collector: own, route}, async (page) => {
        page.mayFail = true;
        await page.waitForSelector(`text=${words}`);
        assert.deepEqual(await axe(page), [], route);
      })();
    }
  } finally {
    await own.remove();
  }
});

test('the page is served compressed, for ever where its name has a digest, and under a strict policy', async () => {
  const index = await fetch(`${collector.url}/`);
  const html = await index.text();
  assert.match(index.headers.get('content-security-policy'), /script-src 'self'/);
  assert.doesNotMatch(index.headers.get('content-security-policy'), /unsafe/);
  assert.equal(index.headers.get('cache-control'), 'no-cache');
  const script = html.match(/assets\/app-\w+\.js/)[0];
  const asset = await fetch(`${collector.url}/${script}`, {headers: {'Accept-Encoding': 'gzip'}});
  assert.equal(asset.headers.get('content-encoding'), 'gzip');
  assert.match(asset.headers.get('cache-control'), /immutable/);
  const again = await fetch(`${collector.url}/`, {headers: {'If-None-Match': index.headers.get('etag')}});
  assert.equal(again.status, 304);
});
