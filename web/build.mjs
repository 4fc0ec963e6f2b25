// Makes the page from src/: bundled, minified, with a digest in each name, and compressed beforehand.
//
//   node build.mjs OUT_FOLDER
//
// OUT_FOLDER is emptied first. It gets index.html, icon.svg, assets/, and X.gz and X.br beside each X.
import fs from 'node:fs';
import path from 'node:path';
import {fileURLToPath} from 'node:url';
import zlib from 'node:zlib';
import {build} from 'esbuild';

const MOST_SENT_BYTES = 150 * 1024;  // of scripts, compressed

const here = path.dirname(fileURLToPath(import.meta.url));
const out = process.argv[2];
if (!out) {
  console.error('usage: node build.mjs OUT_FOLDER');
  process.exit(2);
}

fs.rmSync(out, {recursive: true, force: true});
const result = await build({
  entryPoints: {app: path.join(here, 'src/main.jsx')},
  bundle: true,
  minify: true,
  format: 'esm',
  target: ['es2020'],
  jsx: 'automatic',
  jsxImportSource: 'preact',
  outdir: path.join(out, 'assets'),
  entryNames: '[name]-[hash]',
  metafile: true,
  legalComments: 'none',
  logLevel: 'warning',
});

const names = Object.keys(result.metafile.outputs).map((file) => `assets/${path.basename(file)}`);
const one = (end) => names.find((name) => name.endsWith(end));
const html = fs.readFileSync(path.join(here, 'index.html'), 'utf8')
    .replace('assets/app.js', one('.js')).replace('assets/app.css', one('.css'));
fs.writeFileSync(path.join(out, 'index.html'), html);
fs.copyFileSync(path.join(here, 'icon.svg'), path.join(out, 'icon.svg'));

let sent = 0;
for (const name of ['index.html', 'icon.svg', ...names]) {
  const content = fs.readFileSync(path.join(out, name));
  const gzip = zlib.gzipSync(content, {level: 9});
  const brotli = zlib.brotliCompressSync(content);
  fs.writeFileSync(path.join(out, `${name}.gz`), gzip);
  fs.writeFileSync(path.join(out, `${name}.br`), brotli);
  if (name.endsWith('.js')) sent += gzip.length;
  console.log(`${name}: ${content.length} bytes, gzip ${gzip.length}, br ${brotli.length}`);
}
if (sent > MOST_SENT_BYTES) {
  console.error(`the scripts are ${sent} bytes by gzip, more than ${MOST_SENT_BYTES}`);
  process.exit(1);
}
