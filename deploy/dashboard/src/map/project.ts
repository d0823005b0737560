/** Positions on a flat map. A van's day is small, so a degree is as long everywhere on it. */

const METRES_PER_DEGREE = 111_195;
/** A van that stands still must not fill the map with the noise of its receiver. */
const LEAST_METRES = 400;

export interface Place {
  lat: number;
  lon: number;
}

export interface Projection {
  x(place: Place): number;
  y(place: Place): number;
  /** What is at a point of the map. */
  place(x: number, y: number): Place;
  /** Of one metre, in the units of the map. */
  scale: number;
}

/** All places within `width` × `height`, north up, with a margin. */
export function fit(places: Place[], width: number, height: number, margin: number): Projection {
  const first = places[0] ?? { lat: 0, lon: 0 };
  const perDegree = METRES_PER_DEGREE * Math.cos((first.lat * Math.PI) / 180);
  const east = (place: Place) => shortest(place.lon - first.lon) * perDegree;
  const north = (place: Place) => (place.lat - first.lat) * METRES_PER_DEGREE;
  const [left, right] = extent(places.map(east));
  const [bottom, top] = extent(places.map(north));
  const scale = Math.min((width - 2 * margin) / Math.max(right - left, LEAST_METRES), (height - 2 * margin) / Math.max(top - bottom, LEAST_METRES));
  return {
    x: (place) => width / 2 + (east(place) - (left + right) / 2) * scale,
    y: (place) => height / 2 - (north(place) - (bottom + top) / 2) * scale,
    place: (x, y) => ({
      lat: first.lat + ((bottom + top) / 2 - (y - height / 2) / scale) / METRES_PER_DEGREE,
      lon: first.lon + ((left + right) / 2 + (x - width / 2) / scale) / perDegree,
    }),
    scale,
  };
}

/** A difference of longitudes across the date line is short. */
function shortest(degrees: number): number {
  return ((((degrees + 180) % 360) + 360) % 360) - 180;
}

function extent(values: number[]): [number, number] {
  return values.length === 0 ? [0, 0] : [Math.min(...values), Math.max(...values)];
}

/** The longest of 1, 2 and 5 times a power of ten metres that is at most `most` units long on the map. */
export function scaleBar({ scale }: Projection, most: number): { metres: number; length: number } {
  const power = 10 ** Math.floor(Math.log10(most / scale));
  const metres = power * [5, 2, 1].find((step) => step * power * scale <= most)!;
  return { metres, length: metres * scale };
}
