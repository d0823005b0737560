/** The part of the address after #: the sensor to show, if any. */

const SENSOR = /^#\/sensor\/(.+)$/;

export function sensorLink(id: string): string {
  return `#/sensor/${encodeURIComponent(id)}`;
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
