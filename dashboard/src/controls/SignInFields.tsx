import { TextField } from "./Field.tsx";

interface PasswordFieldProps {
  label?: string;
  value: string;
  onChange: (value: string) => void;
}

/** A password that is there already. */
export function PasswordField({ label = "Password", value, onChange }: PasswordFieldProps) {
  return (
    <TextField
      label={label}
      type="password"
      autoComplete="current-password"
      required
      maxLength={128}
      value={value}
      onChange={(event) => onChange(event.target.value)}
    />
  );
}

/** A password that is chosen. */
export function NewPasswordField({ label = "Password", value, onChange }: PasswordFieldProps) {
  return (
    <TextField
      label={label}
      type="password"
      autoComplete="new-password"
      required
      minLength={8}
      maxLength={128}
      hint="8 to 128 characters"
      value={value}
      onChange={(event) => onChange(event.target.value)}
    />
  );
}

/** The email of who signs in, up, or joins. */
export function OwnEmailField({ value, onChange }: Omit<PasswordFieldProps, "label">) {
  return (
    <TextField
      label="Email"
      type="email"
      autoComplete="username"
      required
      maxLength={256}
      value={value}
      onChange={(event) => onChange(event.target.value)}
    />
  );
}
