// The pictures of README.md and docs, from the simulated fleet of `deploy/quickstart.sh --demo-fleet 200`:
//
//   FM_BUILD_DIR=build/release FM_WEB_MODULES=build/release/tests/web/modules \
//     node tests/web/pictures.mjs http://127.0.0.1:9412 docs/pictures
import {launch, open} from './browser.mjs';

const [, , url, folder] = process.argv;
if (!url || !folder) {
  console.error('usage: pictures.mjs URL_OF_THE_COLLECTOR FOLDER');
  process.exit(2);
}
const get = async (what) => (await fetch(`${url}/api/fleetmark/v1/${what}`)).json();
const shift = (await get('findings?state=open&direction=worse&top_level=true')).findings.find((f) => f.scope.startsWith('gpu.driver'));
if (!shift) throw new Error('the driver\'s finding is not joined yet: wait two minutes');

const PICTURES = {
  fleet: ['#/', 'canvas[data-drawn]', 1280, 1180, 'light'],
  'fleet-dark': ['#/?by=gemm%2Fperformance&group=rack', 'section:has(#nodes) tbody tr', 1280, 1180, 'dark'],
  node: ['#/nodes/n00007', '.multiple svg path', 1280, 860, 'light'],
  finding: [`#/findings/${shift.finding_id}`, '.mini svg', 1280, 1100, 'light'],
  compare: ['#/compare?a.fact=gpu.driver%3D560.35&b.fact=gpu.driver%3D570.86&a.from=-5d&b.from=-5d&all=1', 'tbody tr', 1280, 760, 'light'],
};

const browser = await launch();
for (const [name, [route, ready, width, height, scheme]] of Object.entries(PICTURES)) {
  const page = await open(browser, {url}, {route, width, height, scheme});
  await page.waitForSelector(ready);
  await page.waitForTimeout(1500);  // until what else is read is there too
  await page.screenshot({path: `${folder}/${name}.png`});
  if (page.faults.length) throw new Error(`${name}: ${page.faults.join('; ')}`);
  await page.context().close();
  console.log(`${folder}/${name}.png`);
}
await browser.close();
