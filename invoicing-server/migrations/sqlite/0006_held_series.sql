-- Who is about to take the next number and prints it meanwhile, and until when nobody else is given one; 0 where nobody is.
ALTER TABLE series ADD COLUMN holder BLOB;
ALTER TABLE series ADD COLUMN held_until INTEGER NOT NULL DEFAULT 0;
