/** Readers for data from the network: they accept any bytes and bound every size. */

const MAX_BYTES = 131_072;
const MAX_NAME = 64;
/** The default limit of an agent (`max_sensors`). */
export const MAX_ENTRIES = 256;
const MAX_SAMPLES = 512;
const MAX_SIZE = 1e100;
export const MAX_TEXT = 160;

export type Fields = Record<string, unknown>;

/** The JSON object in a payload, or null for anything else, however large or broken. */
export function fieldsOf(payload: Uint8Array): Fields | null {
  if (payload.length > MAX_BYTES) return null;
  try {
    return asFields(JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(payload)));
  } catch {
    return null;
  }
}

export function asFields(raw: unknown): Fields | null {
  return typeof raw === "object" && raw !== null && !Array.isArray(raw) ? (raw as Fields) : null;
}

export function text(raw: unknown, longest = MAX_NAME): string | null {
  return typeof raw === "string" && raw !== "" ? raw.slice(0, longest) : null;
}

/** A number up to 1e100: sums and products of larger ones may not be finite. */
export function number(raw: unknown): number | null {
  return typeof raw === "number" && Math.abs(raw) <= MAX_SIZE ? raw : null;
}

export function count(raw: unknown): number {
  return Math.max(0, Math.trunc(number(raw) ?? 0));
}

export function instantMs(raw: unknown): number | null {
  const ms = typeof raw === "string" && raw.length <= 40 ? Date.parse(raw) : Number.NaN;
  return Number.isFinite(ms) ? ms : null;
}

export function names(raw: unknown, most: number): string[] {
  if (!Array.isArray(raw)) return [];
  return raw.slice(0, most).flatMap((item) => text(item) ?? []);
}

/** The entries of a map whose values `read` accepts, at most `most` of them. */
export function entries<T>(raw: unknown, read: (value: unknown) => T | null, most = MAX_ENTRIES): Record<string, T> {
  const kept: Record<string, T> = Object.create(null) as Record<string, T>;
  for (const [name, value] of Object.entries(asFields(raw) ?? {}).slice(0, most)) {
    const item = read(value);
    if (item !== null) kept[name.slice(0, MAX_NAME)] = item;
  }
  return kept;
}

/** A name that the agent accepts: printable, one level of a topic, without characters that reorder text. */
export function topicLevel(raw: unknown): string | null {
  return typeof raw === "string" && /^(?: |[^/+#\p{C}\p{Z}]){1,64}$/u.test(raw) ? raw : null;
}

export function samples(raw: unknown): number[] | null {
  if (!Array.isArray(raw) || raw.length < 2 || raw.length > MAX_SAMPLES) return null;
  return raw.every((item) => number(item) !== null) ? (raw as number[]) : null;
}

export function range(raw: unknown): [number, number] | null {
  const pair = samples(raw);
  return pair?.length === 2 && pair[0]! <= pair[1]! ? [pair[0]!, pair[1]!] : null;
}

export function plain(raw: unknown): string | null {
  if (typeof raw === "number" || typeof raw === "boolean") return String(raw);
  return Array.isArray(raw) ? text(raw.map(plain).filter(Boolean).join(", "), MAX_TEXT) : text(raw, MAX_TEXT);
}
