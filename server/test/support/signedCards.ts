import { exportJWK, FlattenedSign, generateKeyPair, type JWK } from "jose";
import { canonicalJson } from "../../src/handoff/card/cardSignature.ts";
import { answerJson, startCardServer } from "./cardServer.ts";

/** Signs agent cards with a key that it publishes at an address of its own. */
export interface CardSigner {
  /** The published key. */
  jwk: JWK;
  sign(card: Record<string, unknown>): Promise<Record<string, unknown>>;
  stop(): Promise<void>;
}

export async function startCardSigner(): Promise<CardSigner> {
  const keys = await startCardServer();
  const { privateKey, publicKey } = await generateKeyPair("ES256", { extractable: true });
  const signer: CardSigner = {
    jwk: { ...(await exportJWK(publicKey)), kid: "k" },
    async sign(card) {
      const jws = await new FlattenedSign(Buffer.from(canonicalJson(card)))
        .setProtectedHeader({ alg: "ES256", kid: "k", typ: "JOSE", jku: keys.url })
        .sign(privateKey);
      return { ...card, signatures: [{ protected: jws.protected, signature: jws.signature }] };
    },
    stop: () => keys.stop(),
  };
  keys.answer = (response) => answerJson(response, { keys: [signer.jwk] });
  return signer;
}
