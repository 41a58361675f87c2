/** The script that only some pages need, fetched once a document or a user asks for it: see later.ts. */
import { PeosError } from "./errors.js";
import type * as Later from "./later.js";

export const later: { load: () => Promise<typeof Later> } = {
  load: () =>
    Promise.reject(
      new PeosError("view.kind", "it asks for a record, or to verify, and this page was started without the script for that", "the page names it as `later`"),
    ),
};
