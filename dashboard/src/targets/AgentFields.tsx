import { SelectField, TextField } from "../controls/Field.tsx";
import type { ChoiceFieldsProps } from "./kinds/kind.ts";

/** The URL of a new agent's card, and the credentials for the agent. */
export function AgentFields({ texts, field }: ChoiceFieldsProps) {
  const secret = {
    type: "password",
    required: true,
    autoComplete: "off",
    hint: "Stored encrypted; it is never shown again",
  };
  const { "auth.type": type = "none" } = texts;
  const { onChange: onType } = field("auth.type");
  const origin = field("confirm_origin");
  return (
    <>
      <TextField
        label="Agent card URL"
        type="url"
        required
        placeholder="https://agent.example/.well-known/agent-card.json"
        {...field("agent_card_url")}
      />
      <SelectField label="Authentication" value={type} onChange={onType}>
        <option value="none">None</option>
        <option value="bearer">Bearer token</option>
        <option value="api_key">API key in a header</option>
      </SelectField>
      {type === "api_key" && (
        <>
          <TextField label="Header" required placeholder="X-API-Key" {...field("auth.header")} />
          <TextField label="API key" {...secret} {...field("auth.value", "auth")} />
        </>
      )}
      {type === "bearer" && <TextField label="Token" {...secret} {...field("auth.token", "auth")} />}
      {type !== "none" && (origin.error !== undefined || origin.value !== "") && (
        <TextField label="Confirmed origin" placeholder="https://agent.example" {...origin} />
      )}
    </>
  );
}
