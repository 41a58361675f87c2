/** One kind of error, known by its id as in the Python client (docs/errors.md); sentences are for people. */
export class PeosError extends Error {
  /** Also of the other script of this client, which has a class of its own. */
  static override [Symbol.hasInstance](error: unknown): boolean {
    return error instanceof Error && error.name === "PeosError";
  }

  constructor(
    readonly id: string,
    sentence: string,
    readonly hint = "",
    readonly retry = false,
  ) {
    super(sentence);
    this.name = "PeosError";
  }
}
