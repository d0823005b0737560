/** The part of the address after #: the sensor to show, if any. */

const SENSOR = /^#\/sensor\/(.+)$/;

/** `id` is that of the fleet, `van-1/5A2D`. */
export function sensorLink(id: string): string {
  return `#/sensor/${id.split("/").map(encodeURIComponent).join("/")}`;
}

/** The sensor in a hash; null for the overview. */
export function sensorIn(hash: string): string | null {
  const part = SENSOR.exec(hash)?.[1];
  try {
    return part === undefined ? null : decodeURIComponent(part);
  } catch {
    return null;
  }
}

/** "5A2D" of `van-1/5A2D`. */
export function nameIn(id: string): string {
  return id.slice(id.lastIndexOf("/") + 1);
}
