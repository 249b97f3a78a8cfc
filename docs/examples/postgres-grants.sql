-- What serve may read, once the first index has made the tables. Not privatemail_private: it holds features of items.
GRANT SELECT ON privatemail_parts, privatemail_pointers TO serve;
