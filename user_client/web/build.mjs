// dist/: the page's module, the worker with all that it needs, and what integrity attributes must say of both.
import { createHash } from "node:crypto";
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const LIMIT = 40_000; // bytes, compressed: a test of the build itself
const common = { bundle: true, format: "esm", minify: true, target: ["es2022"], legalComments: "none", logLevel: "warning" };
mkdirSync("dist", { recursive: true });
await build({ ...common, entryPoints: { index: "src/index.ts", worker: "src/worker.ts" }, outdir: "dist" });
await build({ ...common, entryPoints: { library: "src/library.ts", measure: "src/measure.ts" }, outdir: "dist" });
await build({ ...common, entryPoints: { page: "example/page.ts" }, outdir: "dist/example" });

const integrity = {};
let compressed = 0;
for (const name of ["index.js", "worker.js", "example/page.js"]) {
  const data = readFileSync(`dist/${name}`);
  integrity[name] = `sha256-${createHash("sha256").update(data).digest("base64")}`;
  if (!name.startsWith("example")) compressed += gzipSync(data, { level: 9 }).length;
}
writeFileSync("dist/integrity.json", `${JSON.stringify(integrity, null, 2)}\n`);
copyFileSync("example/page.css", "dist/example/page.css");
const page = readFileSync("example/index.html", "utf8");
writeFileSync("dist/example/index.html", page.replace("PAGE_INTEGRITY", integrity["example/page.js"]).replace("WORKER_INTEGRITY", integrity["worker.js"]));
console.log(`index.js and worker.js: ${compressed} bytes compressed`);
if (compressed >= LIMIT) throw new Error(`more than ${LIMIT} bytes compressed`);
