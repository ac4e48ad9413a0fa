import type { Server } from "node:net";
import type { Config } from "../config/config.ts";

/** Prints the service's address for the person who started it. */
export function greet(
  config: Config,
  { port, isDashboardBuilt }: { port: number; isDashboardBuilt: boolean },
  say: (line: string) => void,
): void {
  const host = config.host.includes(":") ? `[${config.host}]` : config.host;
  const address = `http://${host}:${port}`;
  const page = !config.dashboard
    ? "the dashboard is off"
    : isDashboardBuilt
      ? "open it in a browser"
      : "the dashboard is not built (npm ci without --omit=dev builds it)";
  say(`Postrider listens on ${address} — ${page}; the interface is described at ${address}/docs`);
}

export function listeningPort(address: ReturnType<Server["address"]>): number | undefined {
  return typeof address === "object" ? address?.port : undefined;
}

/** Explains in a sentence why the service cannot listen on its address. */
export function listenFailure(config: Pick<Config, "host" | "port">, error: NodeJS.ErrnoException): string {
  const where = `${config.host}:${config.port}`;
  if (error.code === "EADDRINUSE")
    return `${where} is in use by another program: stop it, or set PORT to a free port`;
  if (error.code === "EACCES") return `${where} may not be opened by this user: set PORT to one above 1023`;
  if (error.code === "EADDRNOTAVAIL" || error.code === "ENOTFOUND" || error.code === "EAI_AGAIN")
    return `HOST=${config.host} is no address of this machine: set it to one, to 127.0.0.1, or to 0.0.0.0 for all`;
  return `cannot listen on ${where}: ${error.message}`;
}
