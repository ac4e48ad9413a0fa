/** Apart from the command, because a start of the service loads it and needs none of the command's modules. */
export const resetPasswordUsage = `  postrider reset-password <email>                       sets a user's password, read from standard input
`;
