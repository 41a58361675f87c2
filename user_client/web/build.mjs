// dist/: the page's module, the worker with all that it needs, and what integrity attributes must say of both.
import { createHash } from "node:crypto";
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const LIMIT = 40_000; // bytes, compressed: a test of the build itself
const common = { bundle: true, format: "esm", minify: true, target: ["es2022"], legalComments: "none", logLevel: "warning" };
// What later.js takes from the worker that loads it, in place of a second copy: see src/worker.ts.
const runtime = {
  name: "runtime",
  setup(here) {
    here.onResolve({ filter: /^@bufbuild\/protobuf/ }, ({ path }) => ({ path, namespace: "worker" }));
    const contents = "export const { create, fromBinary, toBinary, fileDesc, messageDesc, serviceDesc } = globalThis.peosRuntime;";
    here.onLoad({ filter: /.*/, namespace: "worker" }, () => ({ contents }));
  },
};
mkdirSync("dist", { recursive: true });
await build({ ...common, entryPoints: { index: "src/index.ts", worker: "src/worker.ts" }, outdir: "dist" });
await build({ ...common, plugins: [runtime], entryPoints: { later: "src/later.ts" }, outdir: "dist" });
await build({ ...common, entryPoints: { library: "src/library.ts", measure: "src/measure.ts" }, outdir: "dist" });
await build({ ...common, entryPoints: { page: "example/page.ts" }, outdir: "dist/example" });

const integrity = {};
let compressed = 0;
for (const name of ["index.js", "worker.js", "later.js", "example/page.js"]) {
  const data = readFileSync(`dist/${name}`);
  integrity[name] = `sha256-${createHash("sha256").update(data).digest("base64")}`;
  if (["index.js", "worker.js"].includes(name)) compressed += gzipSync(data, { level: 9 }).length;
}
const more = gzipSync(readFileSync("dist/later.js"), { level: 9 }).length; // fetched only where a record is asked for
writeFileSync("dist/integrity.json", `${JSON.stringify(integrity, null, 2)}\n`);
copyFileSync("example/page.css", "dist/example/page.css");
const page = readFileSync("example/index.html", "utf8");
writeFileSync("dist/example/index.html", page.replace("PAGE_INTEGRITY", integrity["example/page.js"]).replace("WORKER_INTEGRITY", integrity["worker.js"]).replace("LATER_INTEGRITY", integrity["later.js"]));
console.log(`index.js and worker.js: ${compressed} bytes compressed; later.js: ${more}`);
if (compressed >= LIMIT) throw new Error(`more than ${LIMIT} bytes compressed`);
