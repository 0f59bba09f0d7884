"""What is measured: an embedded DBMS, or servers and their clients."""
