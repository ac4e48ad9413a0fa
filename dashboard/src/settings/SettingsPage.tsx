import { serviceUrl } from "../api/basePath.ts";
import { Card } from "../controls/Card.tsx";
import { Snippet } from "../controls/Copy.tsx";
import { Keys } from "./Keys.tsx";
import { OrganizationName } from "./OrganizationName.tsx";
import { Sessions } from "./Sessions.tsx";

/** Keys, the organization, sessions, and how programs connect. */
export function SettingsPage() {
  return (
    <div className="mx-auto grid w-full max-w-220 gap-4">
      <h1 className="text-page font-semibold">Settings</h1>
      <Keys />
      <OrganizationName />
      <Sessions />
      <Card title="Connect a program or an agent">
        <div className="grid gap-3">
          <p className="text-muted">
            Everything this page does is done over the public interface; its description is at{" "}
            <a href={`${serviceUrl}/docs`} className="text-accent underline">
              /docs
            </a>{" "}
            and, for programs, at <code>/openapi.json</code>. A client for the Model Context Protocol that
            makes tools of an OpenAPI document can use it as it is:
          </p>
          <Snippet name="MCP client settings" text={mcpSettings} />
        </div>
      </Card>
    </div>
  );
}

const mcpSettings = `{
  "mcpServers": {
    "postrider": {
      "command": "npx",
      "args": ["-y", "@ivotoby/openapi-mcp-server",
               "--api-base-url", "${serviceUrl}",
               "--openapi-spec", "${serviceUrl}/openapi.json",
               "--headers", "authorization:Bearer YOUR_KEY"]
    }
  }
}`;
