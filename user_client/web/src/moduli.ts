/** What is asked of a public modulus that comes in: what can be seen without a secret (peos.crypto.schemes.moduli). */
import { bitLength, gcd, power, root } from "./arithmetic.js";
import { PeosError } from "./errors.js";

const TRIAL_BOUND = 1 << 22;
const SMOOTH_BOUND = 1 << 13;
const BASES = [2n, 3n, 5n, 7n, 11n, 13n, 17n, 19n, 23n, 29n, 31n, 37n];

const passed = new Set<string>(); // moduli that are not looked at again
const REMEMBERED = 64;

export function requireModulus(modulus: bigint, bits: number): void {
  const name = `${bits} ${modulus.toString(36)}`;
  if (passed.has(name)) return;
  lookAt(modulus, bits);
  if (passed.size >= REMEMBERED) passed.clear();
  passed.add(name);
}

function lookAt(modulus: bigint, bits: number): void {
  const refuse = (id: string, sentence: string): never => {
    throw new PeosError(`key.${id}`, sentence);
  };
  if (bitLength(modulus) !== bits) refuse("modulus_length", `the modulus has not the ${bits} bits that are stated`);
  if (!(modulus & 1n)) refuse("modulus_even", "the modulus is even");
  if (hasSmallFactor(modulus)) refuse("modulus_small_factor", `the modulus has a prime factor below ${TRIAL_BOUND}`);
  if (isPower(modulus)) refuse("modulus_power", "the modulus is a perfect power");
  if (passesMillerRabin(modulus)) refuse("modulus_prime", "the modulus is prime");
  const middle = root(modulus - 1n, 2) + 1n;
  const rest = middle * middle - modulus;
  if (root(rest, 2) ** 2n === rest) refuse("primes_close", "the primes of the modulus are too close to each other");
  if (hasSmoothPrime(modulus))
    refuse("prime_smooth", `the modulus has a prime p whose p - 1 has no prime factor above ${SMOOTH_BOUND}`);
}

function primesBelow(bound: number): number[] {
  const composite = new Uint8Array(bound);
  const found: number[] = [];
  for (let n = 2; n < bound; n++) {
    if (composite[n]) continue;
    found.push(n);
    for (let multiple = n * n; multiple < bound; multiple += n) composite[multiple] = 1;
  }
  return found;
}

/** By remainders to products of many primes, then to those of few, then to each: a tree over all of them. */
function hasSmallFactor(modulus: bigint): boolean {
  const divides = (rest: bigint, primes: number[]): boolean => {
    if (primes.length <= 2) {
      const whole = Number(rest % BigInt(primes.reduce((one, other) => one * other, 1)));
      return primes.some((prime) => whole % prime === 0);
    }
    const width = Math.ceil(primes.length / 8);
    for (let at = 0; at < primes.length; at += width) {
      const part = primes.slice(at, at + width);
      if (divides(part.length > 2 ? rest % multiplied(part) : rest, part)) return true;
    }
    return false;
  };
  const primes = primesBelow(TRIAL_BOUND);
  for (let at = 0; at < primes.length; at += 64) {
    const part = primes.slice(at, at + 64);
    if (divides(modulus % multiplied(part), part)) return true;
  }
  return false;
}

function multiplied(primes: number[]): bigint {
  let [result, small] = [1n, 1];
  for (const prime of primes) {
    if (small * prime > Number.MAX_SAFE_INTEGER) {
      result *= BigInt(small);
      small = 1;
    }
    small *= prime;
  }
  return result * BigInt(small);
}

/** Whether it is a power of one number; without factors below the bound none is of a high degree. */
function isPower(modulus: bigint): boolean {
  const most = Math.ceil(bitLength(modulus) / Math.log2(TRIAL_BOUND));
  return primesBelow(most + 1).some((degree) => root(modulus, degree) ** BigInt(degree) === modulus);
}

/** Whether a prime it may be: a composite that passes for all these bases is not known to exist by chance. */
function passesMillerRabin(modulus: bigint): boolean {
  let twos = 0n;
  while (!(((modulus - 1n) >> twos) & 1n)) twos += 1n;
  return BASES.every((base) => {
    let x = power(base, (modulus - 1n) >> twos, modulus);
    if (x === 1n || x === modulus - 1n) return true;
    for (let at = 1n; at < twos; at++) {
      x = (x * x) % modulus;
      if (x === modulus - 1n) return true;
    }
    return false;
  });
}

function hasSmoothPrime(modulus: bigint): boolean {
  let exponent = 1n;
  for (const prime of primesBelow(SMOOTH_BOUND)) {
    let highest = prime;
    while (highest * prime <= SMOOTH_BOUND) highest *= prime;
    exponent *= BigInt(highest);
  }
  return gcd(power(2n, exponent, modulus) - 1n, modulus) !== 1n;
}
