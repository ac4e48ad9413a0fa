import { RotateCcw } from "lucide-react";
import type { ReactNode } from "react";
import { Button, type ButtonProps } from "../controls/Button.tsx";

interface ReplayButtonProps extends Pick<ButtonProps, "look" | "disabled"> {
  isPending: boolean;
  onReplay: () => void;
  children: ReactNode;
}

/** A button that replays one or several items. */
export function ReplayButton({ isPending, onReplay, children, ...rest }: ReplayButtonProps) {
  return (
    <Button {...rest} icon={<RotateCcw size={14} aria-hidden />} busy={isPending} onClick={onReplay}>
      {children}
    </Button>
  );
}
