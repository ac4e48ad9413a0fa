import { TextField } from "./Field.tsx";

interface PasswordFieldProps {
  label?: string;
  value: string;
  readOnly?: boolean;
  onChange: (value: string) => void;
}

/** A password that is there already. */
export function PasswordField({ label = "Password", ...field }: PasswordFieldProps) {
  return (
    <OwnField {...field} label={label} type="password" autoComplete="current-password" maxLength={128} />
  );
}

/** A password that is chosen. */
export function NewPasswordField({ label = "Password", ...field }: PasswordFieldProps) {
  return (
    <OwnField
      {...field}
      label={label}
      type="password"
      autoComplete="new-password"
      minLength={8}
      maxLength={128}
      hint="8 to 128 characters"
    />
  );
}

/** The email of who signs in, up, or joins. */
export function OwnEmailField(field: Omit<PasswordFieldProps, "label">) {
  return <OwnField {...field} label="Email" type="email" autoComplete="username" maxLength={256} />;
}

type OwnFieldProps = Omit<Parameters<typeof TextField>[0], "onChange"> & PasswordFieldProps;

function OwnField({ onChange, ...rest }: OwnFieldProps) {
  return <TextField required {...rest} onChange={(event) => onChange(event.target.value)} />;
}
