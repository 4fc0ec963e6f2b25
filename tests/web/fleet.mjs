// Real programs for the tests of the page: a collector with the built page, and a simulated fleet that fills it.
// Each is in a process group of its own and ended by its process id.
import {spawn} from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';

export const BUILD = process.env.FM_BUILD_DIR;
if (!BUILD) throw new Error('FM_BUILD_DIR must be the build folder');

export function freePort() {
  return new Promise((resolve, reject) => {
    const server = net.createServer();
    server.on('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const {port} = server.address();
      server.close(() => resolve(port));
    });
  });
}

export async function until(what, condition, seconds = 60) {
  const end = Date.now() + seconds * 1000;
  let last;
  while (Date.now() < end) {
    try {
      last = await condition();
      if (last) return last;
    } catch (e) {
      last = e;
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`after ${seconds} s still not: ${what}; last seen: ${last}`);
}

class Program {
  constructor(name, args, log) {
    this.name = name;
    this.log = log;
    const out = fs.openSync(log, 'a');
    this.process = spawn(path.join(BUILD, 'bin', name), args, {stdio: ['ignore', out, out]});
    fs.closeSync(out);
    this.ended = new Promise((resolve) => this.process.on('exit', (code, signal) => resolve({code, signal})));
  }
  text() { return fs.readFileSync(this.log, 'utf8'); }
  async stop(signal = 'SIGTERM') {
    this.process.kill(signal);
    return this.ended;
  }
}

export class Collector {
  static async make(extra = '') {
    const c = new Collector();
    c.folder = fs.mkdtempSync(path.join(os.tmpdir(), 'fm_web_'));
    [c.grpcPort, c.httpPort] = [await freePort(), await freePort()];
    c.config = path.join(c.folder, 'collector.yaml');
    fs.writeFileSync(c.config, `data_dir: ${c.folder}/data\ngrpc: {listen: '127.0.0.1:${c.grpcPort}'}\n` +
        `http: {listen: '127.0.0.1:${c.httpPort}'}\nstore: {reserve_bytes: 0}\nweb_dir: ${BUILD}/web\n${extra}`);
    c.url = `http://127.0.0.1:${c.httpPort}`;
    await c.start();
    return c;
  }
  async start() {
    this.program = new Program('fleetmark-collector', ['--config', this.config], path.join(this.folder, 'log'));
    let ended = null;
    this.program.ended.then((how) => { ended = how; });
    await until('the collector answers', async () => {
      if (ended) throw new Error(`the collector ended: ${this.program.text().slice(-2000)}`);
      return (await fetch(`${this.url}/readyz`)).ok;
    });
  }
  stop(signal) { return this.program.stop(signal); }
  async get(what) {
    const response = await fetch(`${this.url}/api/fleetmark/v1/${what}`);
    if (!response.ok) throw new Error(`${what}: ${response.status} ${await response.text()}`);
    return response.json();
  }
  async remove() {
    await this.stop();
    fs.rmSync(this.folder, {recursive: true, force: true});
  }
}

// Fills the collector; with `hold` its nodes stay connected until it is stopped.
export async function seed(collector, {nodes, runs, hold = true, hostile = true, flags = [], seconds = 300}) {
  const program = new Program('seed_fleet', [`--port=${collector.grpcPort}`, `--nodes=${nodes}`, `--runs=${runs}`,
    ...(hold ? ['--hold'] : []), ...(hostile ? ['--hostile'] : []), ...flags], path.join(collector.folder, 'seed.log'));
  let ended = null;
  program.ended.then((how) => { ended = how; });
  await until('the fleet is there', () => {
    if (hold && ended) throw new Error(`seed_fleet ended: ${program.text()}`);
    return hold ? program.text().includes('holding') : ended;
  }, seconds);
  if (!hold && ended.code !== 0) throw new Error(program.text());
  return program;
}
