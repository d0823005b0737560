/** The broker's address and credentials. The address may be in the page's URL; a password never is. */

export interface Credentials {
  username: string;
  password: string;
}

/** `?broker=` if given, otherwise port 9001 of the host that served the page. */
export function brokerAddress(page: URL): string {
  const given = page.searchParams.get("broker");
  if (given) return given;
  const scheme = page.protocol === "https:" ? "wss" : "ws";
  return `${scheme}://${page.hostname || "127.0.0.1"}:9001`;
}

/** Why an address cannot be used, in words; null if it can. */
export function addressFault(address: string): string | null {
  if (/\s/u.test(address)) return "it contains a blank";
  const url = URL.canParse(address) ? new URL(address) : null;
  if (!url || (url.protocol !== "ws:" && url.protocol !== "wss:")) return "expected ws://host:port or wss://host:port";
  if (url.username || url.password) return "enter the user and password in the form, not in the address";
  return null;
}

// One entry per broker: a link to another broker must not get this one's password.
const key = (address: string) => `respire.credentials ${address}`;

export function loadCredentials(store: Storage, address: string): Credentials | null {
  try {
    const kept: unknown = JSON.parse(store.getItem(key(address)) ?? "null");
    const { username, password } = (kept ?? {}) as Partial<Credentials>;
    return typeof username === "string" && typeof password === "string" ? { username, password } : null;
  } catch {
    return null;
  }
}

/** Keep the credentials for this tab; an empty user name forgets them. */
export function keepCredentials(store: Storage, address: string, credentials: Credentials): void {
  if (credentials.username === "") store.removeItem(key(address));
  else store.setItem(key(address), JSON.stringify(credentials));
}
