/** Geohash: a place as text whose prefixes are ever larger areas (public domain, Niemeyer 2008). */

const ALPHABET = '0123456789bcdefghjkmnpqrstuvwxyz';

/** The geohash of a place in degrees, `length` characters of 5 bits each, longitude first. */
export function geohash(latitude: number, longitude: number, length: number): string {
  const low = { longitude: -180, latitude: -90 };
  const high = { longitude: 180, latitude: 90 };
  let text = '';
  for (let bit = 0, five = 0; bit < length * 5; bit++) {
    const axis = bit % 2 === 0 ? 'longitude' : 'latitude';
    const middle = (low[axis] + high[axis]) / 2;
    const isUpper = (axis === 'longitude' ? longitude : latitude) >= middle;
    if (isUpper) low[axis] = middle;
    else high[axis] = middle;
    five = (five << 1) | (isUpper ? 1 : 0);
    if (bit % 5 === 4) {
      text += ALPHABET[five]!;
      five = 0;
    }
  }
  return text;
}
