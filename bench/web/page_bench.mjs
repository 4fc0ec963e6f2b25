// How fast the dashboard is with a large fleet, in a real headless Chromium with software drawing, against a real
// collector with a simulated fleet; beside each figure stands its limit.
//
//   FM_BUILD_DIR=build/release FM_WEB_MODULES=build/release/tests/web/modules \
//     node bench/web/page_bench.mjs [--nodes=10000] [--runs=8] [--points=100000] [--repeat=5] [--json=FILE]
//
// With --nodes=N every node has 20 series: five metrics, and 15 further ones. Exit status: 0 all within their limits,
// 1 some are not.
import fs from 'node:fs';
import path from 'node:path';
import {launch, open} from '../../tests/web/browser.mjs';
import {Collector, seed} from '../../tests/web/fleet.mjs';

const flags = Object.fromEntries(process.argv.slice(2).map((a) => a.replace(/^--/, '').split('=')));
const NODES = Number(flags.nodes ?? 10000), RUNS = Number(flags.runs ?? 8), POINTS = Number(flags.points ?? 100000), REPEAT = Number(flags.repeat ?? 5);

const results = [];
function report(what, values, unit, limit, atLeast = false) {
  const sorted = [...values].sort((a, b) => a - b);
  const median = sorted[Math.floor(sorted.length / 2)];
  const within = limit === null ? null : atLeast ? median >= limit : median <= limit;
  results.push({what, median, least: sorted[0], greatest: sorted.at(-1), unit, limit, within});
  const text = limit === null ? '' : ` (limit: ${atLeast ? 'at least' : 'at most'} ${limit}) ${within ? 'ok' : 'EXCEEDED'}`;
  console.log(`${what}: ${median.toFixed(1)} ${unit}, ${sorted[0].toFixed(1)} to ${sorted.at(-1).toFixed(1)}${text}`);
}

// --- sizes ---------------------------------------------------------------------------------------------------------

const assets = path.join(process.env.FM_BUILD_DIR, 'web/assets');
const scripts = fs.readdirSync(assets).filter((name) => name.endsWith('.js.gz'));
report('JavaScript sent, gzip', [scripts.reduce((sum, name) => sum + fs.statSync(path.join(assets, name)).size, 0) / 1024], 'KiB', 150);

// --- the fleet page ------------------------------------------------------------------------------------------------

// From the start of the navigation until the map is drawn and the next frame has been given out.
const interactive = (page) => page.evaluate(() => new Promise((resolve) => {
  const done = () => requestAnimationFrame(() => requestAnimationFrame(() => resolve(performance.now())));
  if (document.querySelector('canvas[data-drawn]')) return done();
  new MutationObserver((_, self) => {
    if (!document.querySelector('canvas[data-drawn]')) return;
    self.disconnect();
    done();
  }).observe(document.body, {subtree: true, childList: true, attributes: true});
}));

const collector = await Collector.make();
const browser = await launch();
try {
  const begin = Date.now();
  await seed(collector, {nodes: NODES, runs: RUNS, hold: false, hostile: false, flags: ['--parts=15'], seconds: 3600});
  console.log(`${NODES} nodes with 20 series of ${RUNS} samples each, seeded in ${((Date.now() - begin) / 1000).toFixed(0)} s`);
  const asked = [];
  let bytes = 0;
  for (let i = 0; i < REPEAT; ++i) {
    const at = performance.now();
    const response = await fetch(`${collector.url}/api/fleetmark/v1/fleet`, {headers: {'Accept-Encoding': 'identity'}});
    bytes = (await response.arrayBuffer()).byteLength;
    asked.push(performance.now() - at);
  }
  report('the collector\'s answer with all nodes', asked, 'ms', null);
  report('its size before compression', [bytes / 1024], 'KiB', null);
  const first = [];
  for (let i = 0; i < REPEAT; ++i) {
    const page = await open(browser, collector);
    first.push(await interactive(page));
    await page.context().close();
  }
  report('fleet page until interactive', first, 'ms', 1000);
  const page = await open(browser, collector, {route: '#/?group=class'});
  await interactive(page);
  const act = async (what, values, make) => {
    const times = [];
    for (let i = 0; i < REPEAT * 2; ++i) {
      times.push(await page.evaluate(make, values[i % values.length]));
      await page.waitForTimeout(50);
    }
    report(what, times, 'ms', 100);
  };
  // From an input to the frame that shows what follows from it.
  const change = ([selector, value, event]) => new Promise((resolve) => {
    const e = document.querySelector(selector);
    const start = performance.now();
    Object.getOwnPropertyDescriptor(Object.getPrototypeOf(e), 'value').set.call(e, value);
    e.dispatchEvent(new Event(event, {bubbles: true}));
    requestAnimationFrame(() => requestAnimationFrame(() => resolve(performance.now() - start)));
  });
  const group = '.controls .field:nth-child(2) select', colour = '.controls .field:nth-child(3) select', search = 'input[type=search]';
  await act('regroup', [[group, 'rack', 'change'], [group, 'cluster', 'change'], [group, 'class', 'change']], change);
  await act('colour by state or finding', [[colour, 'state', 'change'], [colour, 'findings', 'change']], change);
  await act('search', [[search, 'r01', 'input'], [search, 'n0123', 'input'], [search, 'rack=r002', 'input'], [search, '', 'input']], change);
  await page.context().close();
} finally {
  await collector.remove();
}

// --- a long series -------------------------------------------------------------------------------------------------

const long = await Collector.make();
try {
  await seed(long, {nodes: 1, runs: POINTS, hold: false, hostile: false, flags: ['--step_seconds=60'], seconds: 3600});
  const id = (await long.get('series?benchmark=gemm')).series[0].series_id;
  const page = await open(browser, long, {route: `#/series/${id}`});
  await page.waitForSelector('.u-over');
  await page.waitForFunction(() => /Each point is/.test(document.querySelector('main').textContent));
  await page.focus('.chart');
  const rates = [];
  for (let i = 0; i < REPEAT; ++i) {
    // A step of zoom or movement for each frame, in to the smallest and out again, over two seconds.
    rates.push(await page.evaluate(() => new Promise((resolve) => {
      const chart = document.querySelector('.chart'), start = performance.now();
      let frames = 0;
      const step = () => {
        const t = performance.now() - start;
        if (t > 2000) return resolve((frames * 1000) / t);
        const key = ['ArrowUp', 'ArrowRight', 'ArrowDown', 'ArrowLeft'][Math.floor(frames / 4) % 4];
        chart.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true, cancelable: true}));
        ++frames;
        requestAnimationFrame(step);
      };
      requestAnimationFrame(step);
    })));
    await page.waitForTimeout(500);
  }
  report(`zoom and movement over a series of ${POINTS} samples`, rates, 'frames/s', 30, true);
} finally {
  await browser.close();
  await long.remove();
}

if (flags.json) fs.writeFileSync(flags.json, JSON.stringify({nodes: NODES, results}, null, 1));
process.exit(results.some((r) => r.within === false) ? 1 : 0);
