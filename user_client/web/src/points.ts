/** Compressed points of P-256: the onion keys on cards and in documents, of which this client only checks the form. */
import { modulo, power } from "./arithmetic.js";
import { fromBig } from "./bytes.js";

const POINT_BYTES = 33;
const P = 2n ** 256n - 2n ** 224n + 2n ** 192n + 2n ** 96n - 1n;
const B = 0x5ac635d8aa3a93e7b3ebbd55769886bc651d06b0cc53b0f63bce3c3e27d2604bn;

export function isPoint(data: Uint8Array): boolean {
  const x = fromBig(data.subarray(1));
  const square = modulo((x * x - 3n) * x + B, P);
  const isForm = data.length === POINT_BYTES && (data[0] === 2 || data[0] === 3) && x < P;
  return isForm && power(square, (P - 1n) / 2n, P) <= 1n;
}
