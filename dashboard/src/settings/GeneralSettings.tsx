import { serviceUrl } from "../api/basePath.ts";
import { Card } from "../controls/Card.tsx";
import { Snippet } from "../controls/Copy.tsx";
import { Keys } from "./Keys.tsx";
import { OrganizationName } from "./OrganizationName.tsx";
import { Password } from "./Password.tsx";
import { Sessions } from "./Sessions.tsx";

/** API keys, the organization, sessions, the password, and how programs connect. */
export function GeneralSettings() {
  return (
    <div className="grid gap-4">
      <Keys />
      <OrganizationName />
      <Sessions />
      <Password />
      <Card title="Connect a program or an agent">
        <div className="grid gap-3">
          <p className="text-muted">
            Everything this page does is done over the public interface. It is described for people at{" "}
            <a href={`${serviceUrl}/docs`} className="text-accent underline">
              /docs
            </a>{" "}
            and for programs at{" "}
            <a href={`${serviceUrl}/openapi.json`} className="text-accent underline">
              /openapi.json
            </a>
            , which clients of agents can make tools of.
          </p>
          <Snippet name="first call" text={firstCall} />
        </div>
      </Card>
    </div>
  );
}

const firstCall = `curl ${serviceUrl}/api/v1/targets -H "authorization: Bearer $POSTRIDER_KEY"`;
