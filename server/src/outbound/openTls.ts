import { isIP, type Socket } from "node:net";
import { connect } from "node:tls";

export interface TlsOptions {
  /** The name that the certificate must have, or a literal address without brackets. */
  host: string;
  port: number;
  sessions: ReturnType<typeof createTlsSessions>;
  /** Trusted certificate authorities, instead of the system's; PEM. */
  ca: string | Buffer | undefined;
}

/** Starts TLS on a connection. Verifies the certificate, and resumes the last session with the same host and port. */
export function openTls(tcp: Socket, { host, port, sessions, ca }: TlsOptions): Socket {
  const sessionKey = `${host}:${port}`;
  const name = host.replace(/\.$/, "");
  const tls = connect({
    socket: tcp,
    host: name,
    // SNI accepts only host names: RFC 6066 §3 forbids addresses.
    servername: isIP(name) === 0 ? name : "",
    ALPNProtocols: ["http/1.1"],
    session: sessions.get(sessionKey),
    ca,
  });
  tls.on("session", (session) => sessions.set(sessionKey, session));
  return tls;
}

const maxSessions = 1024;

/**
 * TLS sessions by host and port. Resuming a session skips the check of the certificate's name, so the key contains exactly the
 * name that was checked. A session is stored only after that check; the oldest is evicted first.
 */
export function createTlsSessions() {
  const sessions = new Map<string, Buffer>();
  return {
    get: (key: string) => sessions.get(key),
    set(key: string, session: Buffer): void {
      sessions.delete(key);
      // A copy in memory of its own: Node gives a part of a buffer of 64 kB, which the session would keep.
      sessions.set(key, Buffer.from(new Uint8Array(session).buffer));
      if (sessions.size > maxSessions) {
        const [oldest] = sessions.keys();
        sessions.delete(oldest ?? key);
      }
    },
  };
}
