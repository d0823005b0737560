/** Whether the data are old ones that come again. */

import { DAY_MS, sorted, type Fleet, type Source } from "./fleet";
import type { Window } from "./wire";

/** A window that arrived live, but more than a day after its end. After an outage windows are late, too, though not for long. */
export function isReplay({ skewMs }: Fleet, { newest, heardMs }: Source<Window>): boolean {
  return newest !== null && heardMs !== null && heardMs + skewMs - newest.endMs > DAY_MS;
}

/** The end of the newest window that is a replay; null if there is none. */
export function replayedMs(fleet: Fleet): number | null {
  const ends = sorted(fleet.sensors).flatMap((sensor) => (isReplay(fleet, sensor) ? sensor.newest!.endMs : []));
  return ends.length > 0 ? Math.max(...ends) : null;
}
