import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { answer, client } from "../api/client.ts";
import { sentenceOf } from "../api/problem.ts";
import { endSession, startSession, useSession } from "../api/session.ts";
import { useUrlState } from "../shell/useUrlState.ts";
import { Loaded } from "../states/Loaded.tsx";
import { EndpointList } from "./EndpointList.tsx";
import { EndpointView } from "./EndpointView.tsx";
import { EventTypes } from "./EventTypes.tsx";
import { PortalFrame } from "./PortalFrame.tsx";
import { portalQuery } from "./portalQueries.ts";

/** Reads the code in the address, and removes it at once, so that it does not stay in the history. */
function takeCode(): string | undefined {
  const code = new URLSearchParams(window.location.hash.slice(1)).get("code");
  if (code === null) return undefined;
  window.history.replaceState(window.history.state, "", window.location.pathname);
  return code;
}

let taken: Promise<string | undefined> | undefined;

/**
 * Exchanges the code in the address for a session, once however often React runs the effect. @returns the error as a
 * sentence, or undefined.
 */
function exchange(): Promise<string | undefined> {
  taken ??= (async () => {
    const code = takeCode();
    if (code === undefined) return undefined;
    endSession();
    try {
      const made = await answer(client.POST("/api/v1/portal/sessions", { body: { code } }));
      startSession({ token: made.session_token, email: "" }, false);
      return undefined;
    } catch (error) {
      return sentenceOf(error);
    }
  })();
  return taken;
}

/** The portal of one customer: its own endpoints and their deliveries, and no data of other customers. */
export function PortalPage() {
  const session = useSession();
  const [refusal, setRefusal] = useState<string>();
  const [isReady, setReady] = useState(false);
  useEffect(() => {
    const open = async (): Promise<void> => {
      const exchanged = exchange();
      const why = await exchanged;
      if (exchanged !== taken) return;
      setRefusal(why);
      setReady(true);
    };
    // When the surrounding page opens a new link in its frame, only the fragment changes, which does not reload the frame.
    const openNext = (): void => {
      if (!window.location.hash.includes("code=")) return;
      taken = undefined;
      setReady(false);
      void open();
    };
    void open();
    window.addEventListener("hashchange", openNext);
    return () => window.removeEventListener("hashchange", openNext);
  }, []);
  if (!isReady) return null;
  if (session === undefined) return <Ended why={refusal} />;
  return <Portal key={session.token} />;
}

function Portal() {
  const [{ endpoint }] = useUrlState();
  const query = useQuery(portalQuery);
  return (
    <PortalFrame portal={query.data}>
      <Loaded query={query} title="Webhooks">
        {() =>
          endpoint === undefined ? (
            <div className="grid gap-4">
              <EndpointList />
              <EventTypes />
            </div>
          ) : (
            <EndpointView key={endpoint} id={endpoint} />
          )
        }
      </Loaded>
    </PortalFrame>
  );
}

function Ended({ why }: { why: string | undefined }) {
  return (
    <PortalFrame>
      <div className="grid max-w-160 gap-3">
        <h1 className="text-page font-semibold">You need a new link</h1>
        {why !== undefined && (
          <p role="alert" className="text-failed">
            {why}
          </p>
        )}
        <p className="text-muted">
          A link works once, and what it opens ends after some hours. Go back to where you came from and open
          it again from there.
        </p>
      </div>
    </PortalFrame>
  );
}
