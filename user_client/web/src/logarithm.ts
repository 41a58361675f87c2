/** ln of a ratio as the smallest double that is no less than it: no ε that is shown or charged is below the true one. */
import { bitLength } from "./arithmetic.js";

const BITS = 256n;
const ONE = 1n << BITS;
const TERMS_UP_TO = 1000n; // of a series that loses more than three bits a term
const ERROR = 1n << 16n; // above what the truncations of both series add up to

/** 2·atanh(x) of a fixed-point x below 1/3. */
function series(x: bigint): bigint {
  const square = (x * x) >> BITS;
  let [sum, term] = [0n, x];
  for (let odd = 1n; term && odd < TERMS_UP_TO; odd += 2n) {
    sum += term / odd;
    term = (term * square) >> BITS;
  }
  return 2n * sum;
}

const LN2 = series(ONE / 3n);

/** ln(numerator/denominator), rounded up to a double, of a ratio of at least 1. */
export function logarithmUp(numerator: bigint, denominator: bigint): number {
  const twos = BigInt(Math.max(0, bitLength(numerator) - bitLength(denominator) - 1));
  const scaled = denominator << twos; // the ratio to it lies from 1 to 4
  const x = ((numerator - scaled) << BITS) / (numerator + scaled);
  return roundedUp(series(x) + twos * LN2 + ERROR);
}

/** A fixed-point number as the smallest double that is no less. */
function roundedUp(value: bigint): number {
  const extra = BigInt(Math.max(0, bitLength(value) - 53));
  const mantissa = (value + (1n << extra) - 1n) >> extra;
  return Number(mantissa) * 2 ** Number(extra - BITS);
}

/** A double as a fraction, exactly: its numerator over 2^1074. */
export function exact(value: number): bigint {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, value);
  const packed = view.getBigUint64(0);
  const exponent = packed >> 52n;
  const fraction = packed & ((1n << 52n) - 1n);
  return exponent ? (fraction | (1n << 52n)) << (exponent - 1n) : fraction;
}

const MILLIONTHS = 1_000_000n;
const DENOMINATOR = 1n << 1074n;

/** ε in whole millionths: rounded up, as it is charged. */
export function chargeOf(epsilon: number): number {
  return Number((exact(epsilon) * MILLIONTHS + DENOMINATOR - 1n) / DENOMINATOR);
}

/** ε in whole millionths: rounded down, as it is allowed. */
export function budgetOf(epsilon: number): number {
  return Number((exact(epsilon) * MILLIONTHS) / DENOMINATOR);
}

/** Millionths as people read them, exactly. */
export function shown(millionths: number): string {
  const rest = String(millionths % 1e6).padStart(6, "0").replace(/0+$/, "");
  return `${Math.floor(millionths / 1e6)}${rest && "."}${rest}`;
}
