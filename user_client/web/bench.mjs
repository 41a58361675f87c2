// What one answer costs in this program: `node bench.mjs` for Node; `python -m tests.e2e.browser_times` runs it in Chromium too.
// A report of one word for three shufflers, keys of 3072 bits (docs/browser.md has the figures).
import { readFileSync } from "node:fs";
import { measure } from "./dist/measure.js";

const keys = JSON.parse(readFileSync(process.argv[2], "utf8"));
console.log(JSON.stringify(await measure(keys, Number(process.argv[3] ?? 20))));
