/** One kind of error, known by its id as in the Python client (docs/errors.md); sentences are for people. */
export class PeosError extends Error {
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
