// Checks Kubernetes objects against the API's schemas, without a server.
//
//   node check_schema.mjs NODE_MODULES < objects.json     (a JSON list)    prints a JSON list of faults
//
// Types, ranges and required fields are checked by the package kubernetes-models' own validation. That lets unknown
// fields pass, which a server refuses, so those are looked up in the package's type declarations.
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const modules = resolve(process.argv[2]);
const parsed = new Map();

// The fields of a declared type as {name: type text}, and where its types' names are declared.
function declaration(file) {
  if (parsed.has(file)) return parsed.get(file);
  const text = readFileSync(file, "utf8");
  const imports = new Map();
  for (const [, names, from] of text.matchAll(/import \{([^}]*)\} from "([^"]+)"/g)) {
    const bare = from.replace(/\.js$/, "");
    const path = (bare.startsWith(".") ? join(dirname(file), bare) : join(modules, bare)) + ".d.ts";
    for (const name of names.split(",")) imports.set(name.trim().split(" as ").pop(), path);
  }
  const body = /export interface I\w+[^{]*\{\n([\s\S]*?)\n\}/.exec(text);
  const fields = body === null ? null : new Map(
    [...body[1].matchAll(/^    "?([\w$-]+)"?\??: ([\s\S]*?);$/gm)].map(([, name, type]) => [name, type]));
  const alias = body === null ? /export type I?\w+ = (\w+);/.exec(text) : null;
  const result = { fields, imports, alias: alias === null ? null : imports.get(alias[1]) ?? null };
  parsed.set(file, result);
  return result;
}

function unknownFields(file, value, path, faults) {
  let type = file !== undefined && existsSync(file) ? declaration(file) : null;
  if (type !== null && type.alias !== null) type = declaration(type.alias);
  if (type === null || type.fields === null || typeof value !== "object" || value === null) return;
  for (const [name, child] of Object.entries(value)) {
    const declared = type.fields.get(name);
    if (declared === undefined) {
      faults.push(`${path}.${name}: there is no such field`);
      continue;
    }
    const next = /\b(I[A-Z]\w+)\b/.exec(declared);
    if (next === null) continue;
    const target = type.imports.get(next[1]);
    const items = Array.isArray(child) ? child : /\[key: string\]/.test(declared) ? Object.values(child) : [child];
    items.forEach((item, i) => unknownFields(target, item, `${path}.${name}${Array.isArray(child) ? `[${i}]` : ""}`, faults));
  }
}

const faults = [];
for (const object of JSON.parse(readFileSync(0, "utf8"))) {
  const name = `${object.kind} ${object.metadata?.name}`;
  const base = join(modules, "kubernetes-models", object.apiVersion, object.kind);
  if (!existsSync(`${base}.js`)) {
    faults.push(`${name}: no schema of ${object.apiVersion} ${object.kind}`);
    continue;
  }
  const { [object.kind]: Model } = await import(pathToFileURL(`${base}.js`));
  try {
    new Model(object).validate();
  } catch (e) {
    faults.push(`${name}: ${e.message}`);
  }
  unknownFields(`${base}.d.ts`, object, name, faults);
}
process.stdout.write(JSON.stringify(faults));
