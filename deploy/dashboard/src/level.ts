/** How grave a problem of the data is. */

/**
 * The state of the data, best first: fine · wait (starting or warming up, in good order) · look (uncertain) ·
 * bad (no value to rely on) · off (its van is off).
 */
export type Level = "fine" | "wait" | "look" | "bad" | "off";
const GRAVITY: Record<Level, number> = { fine: 0, wait: 1, off: 2, look: 3, bad: 4 };

export interface Problem {
  level: Level;
  text: string;
  /** Already listed for its van. */
  ofVan?: true;
}

export function byGravity(a: { level: Level }, b: { level: Level }): number {
  return GRAVITY[b.level] - GRAVITY[a.level];
}

export function worst(problems: { level: Level }[]): Level {
  return problems.reduce<Level>((worse, { level }) => (GRAVITY[level] > GRAVITY[worse] ? level : worse), "fine");
}
