/** Hands on a chart: a tap, a drag over a part of it, two fingers. Positions are in CSS pixels from its left edge. */

/** A shorter movement is a tap. */
const DRAG_PX = 12;

export interface Hands {
  /** A finger or a mouse button touched and left one place. */
  tap(x: number, touch: boolean): void;
  /** A drag goes on; null when it has ended. */
  marking(part: [from: number, to: number] | null): void;
  /** A drag has ended. */
  select(from: number, to: number): void;
  /** Two fingers: the time at `before` is now at `now`, and there is `factor` times as much time between them. */
  pinch(factor: number, before: number, now: number): void;
}

/** Listen to pointers on `place`; `edge` is the left edge of the chart on the screen. */
export function listen(place: HTMLElement, edge: () => number, hands: Hands): void {
  const down = new Map<number, { from: number; now: number }>();
  const at = (event: PointerEvent) => event.clientX - edge();
  let pinched = false;

  place.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    if (down.size === 0) pinched = false;
    down.set(event.pointerId, { from: at(event), now: at(event) });
    if (down.size === 2) hands.marking(null);
    pinched ||= down.size > 1;
  });
  place.addEventListener("pointermove", (event) => {
    const pointer = down.get(event.pointerId);
    if (!pointer) return;
    const before = [...down.values()].map(({ now }) => now);
    pointer.now = at(event);
    const now = [...down.values()].map((each) => each.now);
    if (now.length === 2) hands.pinch(distance(before) / distance(now), middle(before), middle(now));
    else if (!pinched && isDrag(pointer)) hands.marking([pointer.from, pointer.now]);
  });
  place.addEventListener("pointerup", (event) => {
    const pointer = down.get(event.pointerId);
    down.delete(event.pointerId);
    if (!pointer || pinched) return;
    hands.marking(null);
    if (isDrag(pointer)) hands.select(pointer.from, pointer.now);
    else hands.tap(pointer.now, event.pointerType !== "mouse");
  });
  for (const end of ["pointercancel", "pointerleave"] as const)
    place.addEventListener(end, (event) => {
      if (down.delete(event.pointerId)) hands.marking(null);
    });
}

function isDrag({ from, now }: { from: number; now: number }): boolean {
  return Math.abs(now - from) >= DRAG_PX;
}

function distance([a, b]: number[]): number {
  return Math.max(1, Math.abs(a! - b!));
}

function middle([a, b]: number[]): number {
  return (a! + b!) / 2;
}
