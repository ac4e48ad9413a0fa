import { TextBlock } from "../controls/Copy.tsx";

/** The metadata of a customer or target, as JSON. */
export function Metadata({ value }: { value: object | undefined }) {
  if (value === undefined || Object.keys(value).length === 0) return <>none</>;
  return <TextBlock name="Metadata" text={JSON.stringify(value, undefined, 2)} className="max-h-60" />;
}
