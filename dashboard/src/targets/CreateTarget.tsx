import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Bot, FlaskConical, Inbox, type LucideIcon, Webhook } from "lucide-react";
import { useState } from "react";
import { answer, client } from "../api/client.ts";
import { Problem } from "../api/problem.ts";
import type { NewTarget, Target } from "../api/shapes.ts";
import { Button } from "../controls/Button.tsx";
import { Form, SelectField, TextField, WebhookUrlField } from "../controls/Field.tsx";
import { ProblemCard } from "../states/ProblemCard.tsx";
import { newTryoutUrl } from "../tryout/tryoutUrl.ts";
import { OwnFields, type OwnInputs } from "./OwnFields.tsx";

type Choice = "tryout" | "webhook" | "mailbox" | "a2a";

const choices: readonly { id: Choice; name: string; detail: string; icon: LucideIcon }[] = [
  {
    id: "tryout",
    name: "Try it here",
    detail: "This page receives, and shows what a receiver would get",
    icon: FlaskConical,
  },
  { id: "webhook", name: "Your URL", detail: "Signed deliveries to your own receiver", icon: Webhook },
  { id: "mailbox", name: "A mailbox", detail: "Consumers come and claim messages", icon: Inbox },
  { id: "a2a", name: "An agent", detail: "A handoff to an agent with an A2A card", icon: Bot },
];

interface Inputs {
  name: string;
  url: string;
  cardUrl: string;
  authType: "none" | "bearer" | "api_key";
  authHeader: string;
  token: string;
  own: OwnInputs;
}

/** Makes a target: first what it is, then what that needs. What is refused is said beside its field. */
export function CreateTarget({
  choice: initial,
  customerUid = "",
  onMade,
}: {
  choice?: string | undefined;
  /** To whom it is proposed to belong. */
  customerUid?: string | undefined;
  onMade: (target: Target) => void;
}) {
  const [choice, setChoice] = useState<Choice>(choices.find(({ id }) => id === initial)?.id ?? "tryout");
  const [inputs, setInputs] = useState<Inputs>({
    name: "",
    url: "",
    cardUrl: "",
    authType: "none",
    authHeader: "",
    token: "",
    own: { customerUid, uid: "", secret: "" },
  });
  const queries = useQueryClient();
  const create = useMutation({
    mutationFn: () => answer(client.POST("/api/v1/targets", { body: newTarget(choice, inputs) })),
    onSuccess: (target) => {
      void queries.invalidateQueries({ queryKey: ["targets"] });
      const { secret, ...rest } = target;
      // A secret from the form need not be shown again.
      onMade(secret === undefined || secret === inputs.own.secret.trim() ? rest : target);
    },
  });
  return (
    <Form onSubmit={() => create.mutate()}>
      <KindChoice
        choice={choice}
        onChange={(next) => {
          setChoice(next);
          create.reset();
        }}
      />
      <Fields
        choice={choice}
        inputs={inputs}
        error={create.error}
        onChange={(changes) => setInputs({ ...inputs, ...changes })}
      />
      {create.isError && fieldOf(create.error) === undefined && <ProblemCard error={create.error} />}
      <div>
        <Button type="submit" look="primary" busy={create.isPending}>
          Create target
        </Button>
      </div>
    </Form>
  );
}

function newTarget(choice: Choice, inputs: Inputs): NewTarget {
  const { name, url, cardUrl, own } = inputs;
  const givenName = name.trim();
  const names = {
    ...(own.uid.trim() !== "" && { uid: own.uid.trim() }),
    ...(own.customerUid.trim() !== "" && { customer_uid: own.customerUid.trim() }),
  };
  switch (choice) {
    case "tryout":
      return { ...names, kind: "webhook", name: givenName || "Try it here", url: newTryoutUrl() };
    case "webhook":
      return {
        ...names,
        kind: "webhook",
        name: givenName || (URL.parse(url)?.hostname ?? "webhook"),
        url,
        ...(own.secret.trim() !== "" && { secret: own.secret.trim() }),
      };
    case "mailbox":
      return { ...names, kind: "mailbox", name: givenName || "inbox" };
    case "a2a":
      return {
        ...names,
        kind: "a2a",
        name: givenName || (URL.parse(cardUrl)?.hostname ?? "agent"),
        agent_card_url: cardUrl,
        auth: authOf(inputs),
      };
  }
}

function authOf({ authType, authHeader, token }: Inputs) {
  switch (authType) {
    case "none":
      return { type: "none" };
    case "bearer":
      return { type: "bearer", token };
    case "api_key":
      return { type: "api_key", header: authHeader.trim(), value: token };
  }
}

/** The field that a refusal is about: the service's sentences begin with its name. */
function fieldOf(error: unknown): string | undefined {
  if (!(error instanceof Problem) || (error.status !== 400 && error.code !== "uid_taken")) return undefined;
  return /^(?:body\/)?(url|name|agent_card_url|auth\.token|auth\.header|auth\.value|auth|customer_uid|uid|secret)\b/.exec(
    error.message,
  )?.[1];
}

function KindChoice({ choice, onChange }: { choice: Choice; onChange: (choice: Choice) => void }) {
  return (
    <fieldset className="grid gap-2 md:auto-rows-fr md:grid-cols-2">
      <legend className="mb-2 font-medium">Destination</legend>
      {choices.map(({ id, name, detail, icon: Icon }) => (
        <label
          key={id}
          className="flex cursor-pointer gap-2.5 rounded-card border p-3 has-checked:border-accent has-checked:bg-sunken has-focus-visible:outline-2 has-focus-visible:outline-accent"
        >
          <input
            type="radio"
            name="kind"
            className="sr-only"
            checked={id === choice}
            onChange={() => onChange(id)}
          />
          <Icon size={16} className="mt-0.5 shrink-0" aria-hidden />
          <span className="grid content-start">
            <span className="font-medium">{name}</span>
            <span className="text-meta text-muted">{detail}</span>
          </span>
        </label>
      ))}
    </fieldset>
  );
}

interface FieldsProps {
  choice: Choice;
  inputs: Inputs;
  error: unknown;
  onChange: (changes: Partial<Inputs>) => void;
}

function Fields({ choice, inputs, error, onChange }: FieldsProps) {
  const refused = fieldOf(error);
  const errorOf = (name: string): string | undefined =>
    refused === name || (name === "auth.token" && refused === "auth")
      ? (error as Problem).message
      : undefined;
  const field: Field = (input, name = input) => ({
    value: inputs[input],
    error: errorOf(name),
    onChange: (event) => onChange({ [input]: event.target.value }),
  });
  return (
    <>
      {choice === "webhook" && <WebhookUrlField {...field("url")} />}
      {choice === "a2a" && <AgentFields inputs={inputs} field={field} onChange={onChange} />}
      <TextField
        label="Display name (optional)"
        maxLength={256}
        placeholder={{ tryout: "Try it here", webhook: "orders", mailbox: "inbox", a2a: "planner" }[choice]}
        hint="Can be changed later"
        {...field("name")}
      />
      <OwnFields
        own={inputs.own}
        takesSecret={choice === "webhook"}
        errorOf={errorOf}
        onChange={(own) => onChange({ own })}
      />
    </>
  );
}

type Field = (
  input: "name" | "url" | "cardUrl" | "token" | "authHeader",
  /** The member of the request, where it is called otherwise. */
  name?: string,
) => {
  value: string;
  error: string | undefined;
  onChange: (event: { target: { value: string } }) => void;
};

function AgentFields({
  inputs,
  field,
  onChange,
}: Pick<FieldsProps, "inputs" | "onChange"> & { field: Field }) {
  return (
    <>
      <TextField
        label="Agent card URL"
        type="url"
        required
        placeholder="https://agent.example/.well-known/agent-card.json"
        {...field("cardUrl", "agent_card_url")}
      />
      <SelectField
        label="Authentication"
        value={inputs.authType}
        onChange={(event) => onChange({ authType: event.target.value as Inputs["authType"] })}
      >
        <option value="none">None</option>
        <option value="bearer">Bearer token</option>
        <option value="api_key">API key in a header</option>
      </SelectField>
      {inputs.authType === "api_key" && (
        <TextField label="Header" required placeholder="X-API-Key" {...field("authHeader", "auth.header")} />
      )}
      {inputs.authType === "api_key" && (
        <TextField
          label="API key"
          type="password"
          required
          autoComplete="off"
          hint="Stored encrypted; it is never shown again"
          {...field("token", "auth.value")}
        />
      )}
      {inputs.authType === "bearer" && (
        <TextField
          label="Token"
          type="password"
          required
          autoComplete="off"
          hint="Stored encrypted; it is never shown again"
          {...field("token", "auth.token")}
        />
      )}
    </>
  );
}
