import { TextField } from "./Field.tsx";

interface PasswordFieldProps {
  label?: string;
  value: string;
  readOnly?: boolean;
  onChange: (value: string) => void;
}

/** A field for an existing password. */
export function PasswordField({ label = "Password", ...field }: PasswordFieldProps) {
  return (
    <OwnField {...field} label={label} type="password" autoComplete="current-password" maxLength={128} />
  );
}

/** A field for a new password. */
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

/** A field for the email of a user who signs in, signs up or joins. */
export function OwnEmailField(field: Omit<PasswordFieldProps, "label">) {
  return <OwnField {...field} label="Email" type="email" autoComplete="username" maxLength={256} />;
}

type OwnFieldProps = Omit<Parameters<typeof TextField>[0], "onChange"> & PasswordFieldProps;

function OwnField({ onChange, ...rest }: OwnFieldProps) {
  return <TextField required {...rest} onChange={(event) => onChange(event.target.value)} />;
}
