// Chromium from the system, headless, with a watch on everything that a page must not do: errors on its console,
// violations of its policy, requests to other hosts.
import assert from 'node:assert/strict';
import {createRequire} from 'node:module';
import fs from 'node:fs';
import path from 'node:path';

// Where npm put what package-lock.json names.
const require = createRequire(path.join(process.env.FM_WEB_MODULES ?? import.meta.dirname ?? '.', 'x.js'));
const {chromium} = require('playwright-core');
const AXE = fs.readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/chromium-browser'].find((p) => fs.existsSync(p));

export async function launch() {
  if (!CHROMIUM) throw new Error('chromium is missing: deploy/install-deps.sh --dev');
  return chromium.launch({executablePath: CHROMIUM, args: ['--no-sandbox', '--disable-gpu']});
}

export async function open(browser, collector, {width = 1440, height = 900, scheme = 'light', route = '#/'} = {}) {
  const context = await browser.newContext({viewport: {width, height}, colorScheme: scheme, acceptDownloads: true});
  const page = await context.newPage();
  page.faults = [];
  page.mayFail = false;  // while the collector is away, requests may
  page.on('console', (m) => {
    if (m.type() === 'error' && !(page.mayFail && /Failed to load resource|ERR_/.test(m.text()))) page.faults.push(m.text());
  });
  page.on('pageerror', (e) => page.faults.push(String(e.stack ?? e)));
  page.on('request', (r) => {
    if (!/^(blob|data):/.test(r.url()) && !r.url().startsWith(collector.url)) page.faults.push(`asked another host: ${r.url()}`);
  });
  page.setDefaultTimeout(60000);
  await page.goto(`${collector.url}/${route}`);
  return page;
}

// Serious and critical findings of axe-core, in words.
export async function axe(page) {
  await page.evaluate(AXE);
  const {violations} = await page.evaluate(() => window.axe.run(document, {resultTypes: ['violations']}));
  return violations.filter((v) => ['serious', 'critical'].includes(v.impact)).map((v) =>
    `${v.id}: ${v.help}: ${v.nodes.slice(0, 3).map((n) => `${n.target} ${n.failureSummary}`).join(' | ')}`);
}

// Nothing is wider than the window.
export const overflow = (page) => page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);

// A page that must end without a fault.
export async function withPage(browser, collector, options, body) {
  const page = await open(browser, collector, options);
  try {
    await body(page);
    assert.deepEqual(page.faults, []);
  } catch (e) {
    e.message += `\nat ${page.url()}; faults: ${page.faults.join('; ')}`;
    throw e;
  } finally {
    await page.context().close();
  }
}

const SHOTS = process.env.FM_WEB_SHOTS;  // a folder for pictures of every page, to look at

// At every width, light and dark: nothing is too wide, and nothing against axe at the widest and the narrowest.
export async function checkLooks(page, name) {
  for (const width of [1440, 1024, 390]) {
    await page.setViewportSize({width, height: 900});
    for (const scheme of ['light', 'dark']) {
      await page.emulateMedia({colorScheme: scheme});
      await page.waitForFunction((s) => document.documentElement.dataset.theme === s, scheme);
      if (SHOTS) {
        fs.mkdirSync(SHOTS, {recursive: true});
        await page.waitForTimeout(150);
        await page.screenshot({path: `${SHOTS}/${name}-${width}-${scheme}.png`, fullPage: true});
      }
      if ((width === 1440 && scheme === 'light') || (width === 390 && scheme === 'dark')) {
        assert.deepEqual(await axe(page), [], `${name}, ${width}, ${scheme}`);
      }
    }
    assert.ok(await overflow(page) <= 0, `${name} is wider than ${width}`);
  }
}
