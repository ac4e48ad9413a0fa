import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { answer, client } from "../api/client.ts";
import { useMay } from "../api/role.ts";
import type { PortalSettings as Settings } from "../api/shapes.ts";
import { Button } from "../controls/Button.tsx";
import { Card } from "../controls/Card.tsx";
import { differing } from "../controls/differing.ts";
import { Form, TextArea, TextField } from "../controls/Field.tsx";
import { For } from "../controls/For.tsx";
import { toast } from "../controls/toasts.ts";
import { Unsaved } from "../shell/Unsaved.tsx";
import { Loaded } from "../states/Loaded.tsx";
import { ProblemCard } from "../states/ProblemCard.tsx";

const settingsKey = ["portalSettings"];

/** The organization's name, logo and colour in its customers' portal, and the origins that may embed the portal. */
export function PortalSettings() {
  const query = useQuery({
    queryKey: settingsKey,
    queryFn: ({ signal }) => getSettings({ signal }),
  });
  return (
    <Card title="Portal of your customers">
      <Loaded query={query}>{(settings) => <SettingsForm settings={settings} />}</Loaded>
    </Card>
  );
}

/** @throws {Problem} */
function getSettings(init: { signal?: AbortSignal } = {}): Promise<Settings> {
  return answer(client.GET("/api/v1/portal-settings", init));
}

function SettingsForm({ settings }: { settings: Settings }) {
  const mayChange = useMay("admin");
  const queries = useQueryClient();
  // Saved settings are known here before the query reads them again.
  const [known, setKnown] = useState({ read: settings, latest: settings });
  if (known.read !== settings) setKnown({ read: settings, latest: settings });
  const shown = textsOf(known.latest);
  // Only the texts that were changed here. The other texts follow changes by other users, and a save keeps their current
  // values.
  const [edits, setEdits] = useState<Partial<Texts>>({});
  const typed = { ...shown, ...edits };
  const isUnsaved = Object.keys(differing(edits, shown)).length > 0;
  const save = useMutation({
    mutationFn: async (sent: Partial<Texts>) => {
      const current = textsOf(await getSettings());
      return answer(client.PUT("/api/v1/portal-settings", { body: settingsOf({ ...current, ...sent }) }));
    },
    onSuccess: (saved, sent) => {
      queries.setQueryData(settingsKey, saved);
      setKnown((now) => ({ ...now, latest: saved }));
      setEdits((now) => differing(now, sent));
      toast({ text: "Saved." });
    },
  });
  const field = (name: keyof typeof typed) => ({
    value: typed[name],
    disabled: !mayChange,
    onChange: (event: { target: { value: string } }) => setEdits({ ...edits, [name]: event.target.value }),
  });
  return (
    <Form onSubmit={() => save.mutate(edits)}>
      <p className="text-muted">
        A customer's portal shows its own endpoints and what they were sent, and nothing else. Links to it are
        made on the customer's page, or by programs.
      </p>
      <TextField label="Name" maxLength={80} hint="Empty: the organization's name" {...field("name")} />
      <TextField
        label="Logo"
        hint="An https URL, or a data: URL of an image of up to 64 KiB"
        {...field("logo")}
      />
      <TextField
        label="Colour"
        placeholder="#0b6e4f"
        pattern="#[0-9A-Fa-f]{6}"
        hint="Colour of buttons, as #rrggbb; shown darker or lighter if it would not be readable"
        {...field("colour")}
      />
      <TextArea
        label="Origins that may embed the portal"
        hint="One per line, such as https://app.example.com; empty = none"
        {...field("origins")}
      />
      {save.isError && <ProblemCard error={save.error} />}
      <Unsaved isUnsaved={isUnsaved} />
      <For least="admin">
        <div>
          <Button type="submit" look="primary" busy={save.isPending}>
            Save
          </Button>
        </div>
      </For>
    </Form>
  );
}

type Texts = Record<"name" | "logo" | "colour" | "origins", string>;

function textsOf({ name, logo, colour, origins }: Settings): Texts {
  return { name: name ?? "", logo: logo ?? "", colour: colour ?? "", origins: origins.join("\n") };
}

function settingsOf({ name, logo, colour, origins }: Texts) {
  return {
    name: name.trim() || null,
    logo: logo.trim() || null,
    colour: colour.trim().toLowerCase() || null,
    origins: origins
      .split(/\s+/)
      .map((origin) => origin.trim())
      .filter((origin) => origin !== ""),
  };
}
