import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export interface DataFolder {
  readonly folder: string;
  readonly database: string;
  readonly secrets: { readonly stripe: string; readonly marketplace: string };
}

/** Where the try keeps its data: `SHOP_DATA`, or `.counterfoil/shop` here. Secrets are made on first use. */
export function dataFolder(folder: string = process.env["SHOP_DATA"] ?? join(".counterfoil", "shop")): DataFolder {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const file = join(folder, "secrets.json");
  if (!existsSync(file)) {
    const secret = (): string => `whsec_${randomBytes(24).toString("base64url")}`;
    const made = JSON.stringify({ stripe: secret(), marketplace: secret() });
    // Another process may be first: what it wrote is kept.
    try {
      writeFileSync(file, made, { flag: "wx", mode: 0o600 });
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
    }
  }
  const secrets = JSON.parse(readFileSync(file, "utf8")) as DataFolder["secrets"];
  return { folder, database: join(folder, "shop.db"), secrets };
}
