import type { LucideIcon } from "lucide-react";
import type { ComponentType } from "react";
import type { Attempt, ItemEvent, NewTarget, Target } from "../../api/shapes.ts";
import type { Setting } from "../settingTexts.ts";
import type { SettingsForm } from "../useSettingsForm.ts";

/**
 * Everything that pages know about one kind of target. A page reads these properties, and never compares the name of the
 * kind. Every page loads the kinds; parts that only some pages show are loaded when they are shown (`lazyPage`).
 */
export interface Kind {
  /** The name of one target of the kind. */
  label: string;
  icon: LucideIcon;
  pages: { list: "/targets" | "/mailboxes"; one: "/targets/$id" | "/mailboxes/$id" };
  /** Whether consumers claim its items. Items of the other kinds are sent, in attempts. */
  isPulled: boolean;
  /** Whether its items become tasks of an agent. Such targets cannot receive operational events. */
  isHandoff: boolean;
  /** Whether customers create and change such targets in the portal. */
  isInPortal: boolean;
  /** Whether a test can be sent without consequences. */
  isTestable: boolean;
  /** Whether an item that the target's filter or event types stopped can be replayed. */
  canReplayFiltered: boolean;
  /** Whether receivers deduplicate by a webhook-id, which a replay keeps or renews. */
  hasWebhookId: boolean;
  /** The ways to create a target of the kind. */
  choices: readonly Choice[];
  /** The kind's settings in addition to those of every kind, as texts of the form. */
  settings: readonly Setting[];
  /** The fields of these settings. */
  Settings: ComponentType<{ target: Target; form: SettingsForm }>;
  /** The tabs of a target's page in addition to those of every kind. */
  tabs: readonly KindTab[];
  /** Commands that consume its items. */
  Consuming?: ComponentType<{ targetId: string }>;
  /** The sections of an item's page in addition to those of every kind. */
  ItemSections?: ComponentType<{ event: ItemEvent; attempts: readonly Attempt[] }>;
  words: {
    /** The state of an item that ended successfully, as the first word of a sentence. */
    delivered: string;
    /** The state of a canceled item, to follow "It is". */
    canceled: string;
    /** The effect of a deletion on waiting items, as a sentence. */
    deleted: string;
  };
}

export interface KindTab {
  id: string;
  name: string;
  Content: ComponentType<{ target: Target }>;
}

/** One way to create a target of the kind. */
export interface Choice {
  id: string;
  name: string;
  detail: string;
  icon: LucideIcon;
  /** An example of a display name. */
  placeholder: string;
  /** Whether the owner may choose the signing secret. */
  takesSecret: boolean;
  Fields?: ComponentType<ChoiceFieldsProps>;
  /** The names of the shown fields, with which the service's errors begin. */
  fieldNames: (texts: ChoiceTexts) => readonly string[];
  /** The request body; its `name` is the default name. */
  request: (texts: ChoiceTexts) => NewTarget;
}

/** Texts that the user typed, by the name of the request's field. */
export type ChoiceTexts = Readonly<Record<string, string>>;

export interface ChoiceFieldsProps {
  texts: ChoiceTexts;
  /** The props of a field. `alsoRefusedAs` is another name that the service's errors use for this field. */
  field: (
    name: string,
    alsoRefusedAs?: string,
  ) => { value: string; error: string | undefined; onChange: (event: { target: { value: string } }) => void };
}
