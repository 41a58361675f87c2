/** Whole numbers of any size. Not in constant time: see docs/browser.md for what that means here. */

export function modulo(value: bigint, modulus: bigint): bigint {
  const rest = value % modulus;
  return rest < 0n ? rest + modulus : rest;
}

export function bitLength(value: bigint): number {
  const digits = value.toString(16);
  return value ? 4 * digits.length - Math.clz32(parseInt(digits[0]!, 16)) + 28 : 0;
}

const WINDOW = 5;

/** base^exponent mod modulus, five bits of the exponent at a time. */
export function power(base: bigint, exponent: bigint, modulus: bigint): bigint {
  const digits = exponent.toString(1 << WINDOW);
  const small = [1n, base % modulus];
  while (small.length < 1 << WINDOW) small.push((small[small.length - 1]! * small[1]!) % modulus);
  let result = 1n;
  for (const digit of digits) {
    for (let bit = 0; bit < WINDOW; bit++) result = (result * result) % modulus;
    const at = parseInt(digit, 1 << WINDOW);
    if (at) result = (result * small[at]!) % modulus;
  }
  return result;
}

export function gcd(one: bigint, other: bigint): bigint {
  while (other) [one, other] = [other, one % other];
  return one;
}

/** The inverse, of a number that has one. */
export function inverse(value: bigint, modulus: bigint): bigint {
  let [old, now, x, y] = [modulo(value, modulus), modulus, 1n, 0n];
  while (now) {
    const times = old / now;
    [old, now] = [now, old - times * now];
    [x, y] = [y, x - times * y];
  }
  return modulo(x, modulus);
}

/** The Jacobi symbol (a/n) for odd n. */
export function jacobi(a: bigint, n: bigint): number {
  let sign = 1;
  a = modulo(a, n);
  while (a) {
    let twos = 0n;
    while (!((a >> twos) & 1n)) twos += 1n;
    a >>= twos;
    const eighth = n & 7n;
    if (twos & 1n && (eighth === 3n || eighth === 5n)) sign = -sign;
    if ((a & 3n) === 3n && (n & 3n) === 3n) sign = -sign;
    [a, n] = [n % a, a];
  }
  return n === 1n ? sign : 0;
}

/** ⌊value^(1/degree)⌋, by Newton's method from above. */
export function root(value: bigint, degree: number): bigint {
  const k = BigInt(degree);
  let found = 1n << BigInt(Math.ceil(bitLength(value) / degree) + 1);
  for (;;) {
    const next = ((k - 1n) * found + value / found ** (k - 1n)) / k;
    if (next >= found) return found;
    found = next;
  }
}
