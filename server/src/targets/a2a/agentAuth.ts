import { type Static, Type } from "typebox";
import { nameFault, valueFault } from "../record/headerRules.ts";

/** How the service proves itself to an agent. */
export type AgentAuth =
  | { type: "none" }
  | { type: "bearer"; token: string }
  /** A value in a header of the agent's choice. */
  | { type: "api_key"; header: string; value: string };

/** The credential for an agent as a request gives it. */
export const Auth = Type.Object({
  type: Type.String({ description: "bearer, api_key or none" }),
  token: Type.Optional(
    Type.String({ minLength: 1, maxLength: 4096, pattern: "^[!-~]*$", description: "With bearer" }),
  ),
  header: Type.Optional(
    Type.String({ minLength: 1, maxLength: 64, description: "With api_key: such as X-API-Key" }),
  ),
  value: Type.Optional(Type.String({ minLength: 1, maxLength: 4096, description: "With api_key" })),
});

type AuthReading = { ok: true; auth: AgentAuth } | { ok: false; message: string };

/** Reads the credential of a request; none unless given. */
export function readAuth(
  auth: Static<typeof Auth> | undefined,
  confirmOrigin: string | undefined,
): AuthReading {
  if (confirmOrigin !== undefined && auth?.type !== "bearer" && auth?.type !== "api_key") {
    return bad("confirm_origin goes with auth of type bearer or api_key");
  }
  switch (auth?.type) {
    case undefined:
    case "none":
      return { ok: true, auth: { type: "none" } };
    case "bearer":
      if (auth?.token === undefined) return bad("auth.token is required when auth.type is bearer");
      return { ok: true, auth: { type: "bearer", token: auth.token } };
    case "api_key":
      return readApiKey(auth);
    default:
      return bad("auth.type must be bearer, api_key or none");
  }
}

function readApiKey({ header, value }: Static<typeof Auth>): AuthReading {
  if (header === undefined) return bad("auth.header is required when auth.type is api_key");
  if (value === undefined) return bad("auth.value is required when auth.type is api_key");
  const badName = nameFault(header) ?? (ownHeaders.has(header.toLowerCase()) ? "is reserved" : undefined);
  if (badName !== undefined) return bad(`auth.header ${badName}`);
  const badValue = valueFault(value);
  if (badValue !== undefined) return bad(`auth.value ${badValue}`);
  return { ok: true, auth: { type: "api_key", header, value } };
}

/** Headers that the service sets in every request to an agent. */
const ownHeaders = new Set(["accept", "a2a-version", "a2a-extensions"]);

function bad(message: string): AuthReading {
  return { ok: false, message };
}
